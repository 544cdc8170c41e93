// Planar embeddings of planar graphs, and the edges that make others non-planar.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include "studio/canvas/graph_layout_internal.h"

namespace ipex_studio {
namespace {

using layout_internal::Adjacency;
using layout_internal::embedInPlane;

// Puts each new vertex into a triangle of earlier ones: planar, and no edge can be added.
std::vector<LayoutEdge> triangulation(std::uint32_t seed, std::int32_t vertices) {
  std::mt19937 random(seed);
  struct Triangle {
    std::int32_t a, b, c;
  };
  std::vector<Triangle> triangles = {{0, 1, 2}, {0, 1, 2}};
  std::vector<LayoutEdge> edges = {{0, 1}, {1, 2}, {0, 2}};
  for (std::int32_t v = 3; v < vertices; ++v) {
    Triangle& old = triangles[random() % triangles.size()];
    const Triangle t = old;
    for (const std::int32_t corner : {t.a, t.b, t.c}) edges.push_back({corner, v});
    old = {t.a, t.b, v};
    triangles.push_back({t.a, t.c, v});
    triangles.push_back({t.b, t.c, v});
  }
  std::shuffle(edges.begin(), edges.end(), random);
  return edges;
}

// Counts faces: walking along edges and turning to the next one clockwise at each vertex goes round each face once.
std::int64_t facesOf(const std::vector<LayoutEdge>& edges, const Adjacency& around) {
  std::vector<bool> seen(2 * edges.size(), false);
  std::int64_t faces = 0;
  for (std::size_t start = 0; start < seen.size(); ++start) {
    if (seen[start]) continue;
    ++faces;
    for (std::size_t half = start; !seen[half];) {
      seen[half] = true;
      const auto edge = static_cast<std::int32_t>(half / 2);
      const std::int32_t to = half % 2 == 0 ? edges[half / 2].to : edges[half / 2].from;
      const auto begin = around.targets.begin() + around.begin[to];
      const auto end = around.targets.begin() + around.begin[to + 1];
      auto next = std::find(begin, end, edge);
      if (next == end) return -1;
      next = next + 1 == end ? begin : next + 1;
      half = 2 * static_cast<std::size_t>(*next) + (edges[*next].from == to ? 0 : 1);
    }
  }
  return faces;
}

std::vector<LayoutEdge> complete(std::int32_t vertices) {
  std::vector<LayoutEdge> edges;
  for (std::int32_t a = 0; a < vertices; ++a) {
    for (std::int32_t b = a + 1; b < vertices; ++b) edges.push_back({a, b});
  }
  return edges;
}

TEST(Planarity, EmbedsWhatIsPlanar) {
  for (std::uint32_t seed = 1; seed <= 40; ++seed) {
    const auto vertices = static_cast<std::int32_t>(3 + seed * 4);
    std::vector<LayoutEdge> edges = triangulation(seed, vertices);
    Adjacency around;
    ASSERT_TRUE(embedInPlane(vertices, edges, std::vector<bool>(edges.size(), false), &around).empty());
    EXPECT_EQ(facesOf(edges, around), 2 * vertices - 4) << "seed " << seed;
  }
}

TEST(Planarity, LeavesOutEdges) {
  for (std::uint32_t seed = 1; seed <= 40; ++seed) {
    const auto vertices = static_cast<std::int32_t>(3 + seed * 4);
    const std::vector<LayoutEdge> edges = triangulation(seed, vertices);
    std::mt19937 random(seed);
    std::vector<bool> left_out(edges.size());
    for (std::size_t e = 0; e < edges.size(); ++e) left_out[e] = random() % 3 == 0;
    Adjacency around;
    ASSERT_TRUE(embedInPlane(vertices, edges, left_out, &around).empty());
    EXPECT_EQ(around.targets.size(),
              2U * static_cast<std::size_t>(std::count(left_out.begin(), left_out.end(), false)));
  }
}

// The smallest graphs that are not planar, and triangulations with one edge more: leaving out named edges one by one
// makes them planar.
TEST(Planarity, NamesWhatIsInTheWay) {
  const std::vector<LayoutEdge> k33 = {{0, 3}, {0, 4}, {0, 5}, {1, 3}, {1, 4}, {1, 5}, {2, 3}, {2, 4}, {2, 5}};
  std::vector<std::pair<std::int32_t, std::vector<LayoutEdge>>> graphs = {{5, complete(5)}, {6, k33}};
  for (std::uint32_t seed = 1; seed <= 40; ++seed) {
    const auto vertices = static_cast<std::int32_t>(8 + seed * 3);
    std::vector<LayoutEdge> edges = triangulation(seed, vertices);
    const auto known = [&](const LayoutEdge& edge) {
      return std::any_of(edges.begin(), edges.end(),
                         [&](const LayoutEdge& e) { return e.from == edge.from && e.to == edge.to; });
    };
    for (const LayoutEdge& edge : complete(vertices)) {
      if (known(edge)) continue;
      edges.push_back(edge);
      break;
    }
    graphs.emplace_back(vertices, edges);
  }
  for (const auto& [vertices, edges] : graphs) {
    Adjacency around;
    std::vector<bool> left_out(edges.size(), false);
    std::vector<std::int32_t> named = embedInPlane(vertices, edges, left_out, &around);
    ASSERT_FALSE(named.empty()) << vertices << " vertices, " << edges.size() << " edges";
    for (; !named.empty(); named = embedInPlane(vertices, edges, left_out, &around)) {
      ASSERT_FALSE(left_out[named.front()]);
      left_out[named.front()] = true;
    }
    EXPECT_EQ(around.targets.size(),
              2U * static_cast<std::size_t>(std::count(left_out.begin(), left_out.end(), false)));
  }
}

}  // namespace
}  // namespace ipex_studio
