// Properties of the layered layout: no overlaps, equal bytes for equal graphs, cancellation, size, and time.
#include "studio/canvas/graph_layout.h"
#include "tests/goal.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <random>
#include <thread>

namespace ipex_studio {
namespace {

LayoutGraph randomDag(std::int32_t nodes, double edges_per_node, std::uint32_t seed, std::int32_t reach) {
  std::mt19937 random(seed);
  LayoutGraph graph;
  for (std::int32_t n = 0; n < nodes; ++n) {
    graph.nodes.push_back({static_cast<float>(60 + random() % 180), static_cast<float>(26 + random() % 20)});
    const auto edges = static_cast<std::int32_t>(edges_per_node + (random() % 100) / 100.0);
    for (std::int32_t e = 0; e < edges && n > 0; ++e) {
      const auto back = static_cast<std::int32_t>(random() % static_cast<std::uint32_t>(std::min(n, reach))) + 1;
      graph.edges.push_back({n - back, n});
    }
  }
  return graph;
}

// Makes a network like torchvision's: a chain of blocks with skips.
LayoutGraph residual(std::int32_t nodes) {
  LayoutGraph graph;
  for (std::int32_t n = 0; n < nodes; ++n) {
    graph.nodes.push_back({150, 40});
    if (n > 0) graph.edges.push_back({n - 1, n});
    if (n >= 8 && n % 8 == 0) graph.edges.push_back({n - 8, n});
    if (n >= 24 && n % 24 == 0) graph.edges.push_back({n - 20, n});
  }
  return graph;
}

// Counts overlaps layer by layer, so that large graphs are checked too.
std::int64_t countOverlaps(const LayoutGraph& graph, const Layout& layout) {
  std::vector<std::int32_t> order(graph.nodes.size());
  for (std::size_t n = 0; n < order.size(); ++n) order[n] = static_cast<std::int32_t>(n);
  std::sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    return layout.layers[a] != layout.layers[b] ? layout.layers[a] < layout.layers[b]
                                                : layout.corners[a].x < layout.corners[b].x;
  });
  std::int64_t overlaps = 0;
  float lowest = -1;  // lower side of everything in earlier layers
  float current = -1;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::int32_t n = order[i];
    const bool new_layer = i == 0 || layout.layers[order[i - 1]] != layout.layers[n];
    if (new_layer) lowest = current;
    if (layout.corners[n].y < lowest) ++overlaps;
    if (!new_layer && layout.corners[order[i - 1]].x + graph.nodes[order[i - 1]].width > layout.corners[n].x)
      ++overlaps;
    current = std::max(current, layout.corners[n].y + graph.nodes[n].height);
  }
  return overlaps;
}

bool sameBytes(const Layout& a, const Layout& b) {
  return a.corners.size() == b.corners.size() && a.points.size() == b.points.size() &&
         std::memcmp(a.corners.data(), b.corners.data(), a.corners.size() * sizeof(LayoutPoint)) == 0 &&
         std::memcmp(a.points.data(), b.points.data(), a.points.size() * sizeof(LayoutPoint)) == 0;
}

double medianMs(const LayoutGraph& graph) {
  std::vector<double> times;
  for (int i = 0; i < 5; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    layoutGraph(graph, {}, nullptr);
    times.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
  }
  std::sort(times.begin(), times.end());
  return times[2];
}

TEST(Layout, EmptyAndSingle) {
  EXPECT_EQ(layoutGraph({}, {}, nullptr).corners.size(), 0U);
  const Layout one = layoutGraph({{{100, 40}}, {}}, {}, nullptr);
  ASSERT_EQ(one.corners.size(), 1U);
  EXPECT_GE(one.corners[0].x, 0);
  EXPECT_GE(one.width, 100);
}

TEST(Layout, RandomGraphsHaveNoOverlapsAndPointDown) {
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    const auto nodes = static_cast<std::int32_t>(2 + seed * 7);
    const LayoutGraph graph = randomDag(nodes, 0.4 + 0.05 * (seed % 40), seed, seed % 3 == 0 ? nodes : 12);
    const Layout layout = layoutGraph(graph, {}, nullptr);
    ASSERT_EQ(countOverlaps(graph, layout), 0) << "seed " << seed;
    for (std::size_t e = 0; e < graph.edges.size(); ++e) {
      const LayoutEdge& edge = graph.edges[e];
      ASSERT_LT(layout.layers[edge.from], layout.layers[edge.to]);
      const LayoutRoute& route = layout.routes[e];
      if (route.count == 0) continue;
      ASSERT_GE(route.count, 2);
      ASSERT_FLOAT_EQ(layout.points[route.begin].y, layout.corners[edge.from].y + graph.nodes[edge.from].height);
      ASSERT_FLOAT_EQ(layout.points[route.begin + route.count - 1].y, layout.corners[edge.to].y);
    }
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
      ASSERT_GE(layout.corners[n].x, 0);
      ASSERT_LE(layout.corners[n].x + graph.nodes[n].width, layout.width);
      ASSERT_LE(layout.corners[n].y + graph.nodes[n].height, layout.height);
    }
  }
}

TEST(Layout, RoutesDoNotCrossNodes) {
  const LayoutGraph graph = residual(200);
  const Layout layout = layoutGraph(graph, {}, nullptr);
  for (std::size_t e = 0; e < graph.edges.size(); ++e) {
    const LayoutRoute& route = layout.routes[e];
    for (std::int32_t p = route.begin + 1; p < route.begin + route.count; ++p) {
      const LayoutPoint& a = layout.points[p - 1];
      const LayoutPoint& b = layout.points[p];
      if (a.x != b.x) continue;
      for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
        const LayoutPoint& corner = layout.corners[n];
        const bool beside = a.x <= corner.x || a.x >= corner.x + graph.nodes[n].width;
        const bool apart = b.y <= corner.y || a.y >= corner.y + graph.nodes[n].height;
        ASSERT_TRUE(beside || apart) << "edge " << e << " node " << n;
      }
    }
  }
}

TEST(Layout, SameInputSameBytes) {
  const LayoutGraph graph = randomDag(800, 1.6, 3, 40);
  EXPECT_TRUE(sameBytes(layoutGraph(graph, {}, nullptr), layoutGraph(graph, {}, nullptr)));
}

TEST(Layout, OddEdgesAreHarmless) {
  LayoutGraph graph;
  graph.nodes.assign(5, {80, 30});
  graph.edges = {{0, 1}, {1, 0}, {2, 2}, {3, 99}, {-4, 1}, {1, 2}, {1, 2}, {4, 0}};
  const Layout layout = layoutGraph(graph, {}, nullptr);
  EXPECT_EQ(countOverlaps(graph, layout), 0);
  EXPECT_EQ(layout.routes[2].count, 0);
  EXPECT_EQ(layout.routes[3].count, 0);
  EXPECT_EQ(layout.routes[4].count, 0);
  ASSERT_GE(layout.routes[7].count, 2);
  // An edge reversed for the layout is still drawn from its source to its target.
  EXPECT_GT(layout.points[layout.routes[7].begin].y,
            layout.points[layout.routes[7].begin + layout.routes[7].count - 1].y);
}

TEST(Layout, VeryLongEdgesBecomePortals) {
  LayoutGraph graph = residual(200);
  graph.edges.push_back({0, 199});
  const Layout layout = layoutGraph(graph, {}, nullptr);
  EXPECT_EQ(layout.routes.back().count, 0);
  EXPECT_GE(layout.routes.front().count, 2);
}

TEST(Layout, StraightChainStaysStraight) {
  LayoutGraph graph;
  for (std::int32_t n = 0; n < 50; ++n) {
    graph.nodes.push_back({static_cast<float>(80 + 2 * (n % 20)), 40});
    if (n > 0) graph.edges.push_back({n - 1, n});
  }
  const Layout layout = layoutGraph(graph, {}, nullptr);
  for (const LayoutRoute& route : layout.routes) {
    ASSERT_EQ(route.count, 2);
    EXPECT_FLOAT_EQ(layout.points[route.begin].x, layout.points[route.begin + 1].x);
  }
}

TEST(Layout, ChainOf100000) {
  LayoutGraph graph;
  for (std::int32_t n = 0; n < 100000; ++n) {
    graph.nodes.push_back({120, 40});
    if (n > 0) graph.edges.push_back({n - 1, n});
  }
  const Layout layout = layoutGraph(graph, {}, nullptr);
  ASSERT_EQ(layout.layers.back(), 99999);
  EXPECT_EQ(countOverlaps(graph, layout), 0);
}

TEST(Layout, CancelReturnsSoon) {
  const LayoutGraph graph = randomDag(60000, 1.8, 9, 300);
  std::atomic<bool> cancel{false};
  Layout layout;
  std::chrono::steady_clock::time_point asked;
  std::thread worker([&] { layout = layoutGraph(graph, {}, &cancel); });
  std::this_thread::sleep_for(std::chrono::milliseconds(60));
  asked = std::chrono::steady_clock::now();
  cancel = true;
  worker.join();
  const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - asked).count();
  EXPECT_TRUE(layout.cancelled);
  EXPECT_TRUE(layout.corners.empty());
  expectWithin("cancel of a layout of 60,000 nodes", ms, 50);
}

TEST(Layout, IsFast) {
  const struct {
    std::int32_t nodes;
    double goal_ms;
  } kGoals[] = {{1000, 10}, {5000, 60}, {10000, 150}};
  for (const auto& goal : kGoals) {
    const double chain_ms = medianMs(residual(goal.nodes));
    const double dag_ms = medianMs(randomDag(goal.nodes, 1.1, 5, 30));
    expectWithin("layout of " + std::to_string(goal.nodes) + " nodes, residual", chain_ms, goal.goal_ms);
    expectWithin("layout of " + std::to_string(goal.nodes) + " nodes, random", dag_ms, goal.goal_ms);
  }
}

}  // namespace
}  // namespace ipex_studio
