// Crossings against Graphviz's dot, if it is installed, on the same graphs with the lines as drawn.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "studio/canvas/graph_layout.h"

namespace ipex_studio {
namespace {

struct Line {
  std::int32_t from = 0;
  std::int32_t to = 0;
  std::vector<LayoutPoint> points;
};

double side(LayoutPoint a, LayoutPoint b, LayoutPoint c) {
  return (static_cast<double>(b.x) - a.x) * (static_cast<double>(c.y) - a.y) -
         (static_cast<double>(b.y) - a.y) * (static_cast<double>(c.x) - a.x);
}

bool cross(LayoutPoint a, LayoutPoint b, LayoutPoint c, LayoutPoint d) {
  return side(a, b, c) * side(a, b, d) < 0 && side(c, d, a) * side(c, d, b) < 0;
}

// Counts pairs of edges without a common end that cross at least once.
std::int64_t crossings(const std::vector<Line>& lines) {
  std::int64_t count = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    for (std::size_t j = i + 1; j < lines.size(); ++j) {
      const Line& a = lines[i];
      const Line& b = lines[j];
      if (a.from == b.from || a.to == b.to || a.from == b.to || a.to == b.from) continue;
      bool met = false;
      for (std::size_t p = 1; p < a.points.size() && !met; ++p) {
        for (std::size_t q = 1; q < b.points.size() && !met; ++q)
          met = cross(a.points[p - 1], a.points[p], b.points[q - 1], b.points[q]);
      }
      count += met ? 1 : 0;
    }
  }
  return count;
}

std::vector<Line> ownLines(const LayoutGraph& graph) {
  const Layout layout = layoutGraph(graph, {}, nullptr);
  std::vector<Line> lines;
  for (std::size_t e = 0; e < graph.edges.size(); ++e) {
    const LayoutRoute& route = layout.routes[e];
    const auto first = layout.points.begin() + route.begin;
    lines.push_back({graph.edges[e].from, graph.edges[e].to, {first, first + route.count}});
  }
  return lines;
}

// Samples dot's splines at their control points; empty if dot is missing or takes longer than a minute.
std::vector<Line> dotLines(const LayoutGraph& graph) {
  const std::string path = ::testing::TempDir() + "crossings_test.dot";
  std::ofstream file(path);
  file << "digraph g { node [shape=box, fixedsize=true];\n";
  for (std::size_t n = 0; n < graph.nodes.size(); ++n)
    file << n << " [width=" << graph.nodes[n].width / 72 << ", height=" << graph.nodes[n].height / 72 << "];\n";
  for (const LayoutEdge& edge : graph.edges) file << edge.from << " -> " << edge.to << ";\n";
  file << "}\n";
  file.close();
  FILE* pipe = popen(("timeout 60 dot -Tplain " + path + " 2>/dev/null").c_str(), "r");
  if (pipe == nullptr) return {};
  std::string text;
  std::array<char, 4096> buffer{};
  for (std::size_t got = 0; (got = fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) text.append(buffer.data(), got);
  if (pclose(pipe) != 0) return {};
  std::vector<Line> lines;
  std::istringstream plain(text);
  for (std::string row; std::getline(plain, row);) {
    std::istringstream words(row);
    std::string what;
    int count = 0;
    Line line;
    words >> what;
    if (what != "edge") continue;
    words >> line.from >> line.to >> count;
    std::vector<LayoutPoint> control(static_cast<std::size_t>(count));
    for (LayoutPoint& point : control) words >> point.x >> point.y;
    line.points.push_back(control.front());
    for (std::size_t c = 0; c + 3 < control.size(); c += 3) {
      for (int step = 1; step <= 8; ++step) {
        const float t = static_cast<float>(step) / 8;
        const float u = 1 - t;
        const auto at = [&](float LayoutPoint::*axis) {
          return u * u * u * control[c].*axis + 3 * u * u * t * control[c + 1].*axis +
                 3 * u * t * t * control[c + 2].*axis + t * t * t * control[c + 3].*axis;
        };
        line.points.push_back({at(&LayoutPoint::x), at(&LayoutPoint::y)});
      }
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

// Makes a graph like a network: mostly chains, some branches, some skips.
LayoutGraph networkGraph(std::uint32_t seed, std::int32_t nodes, int branch_percent, int reach) {
  std::mt19937 random(seed);
  LayoutGraph graph;
  for (std::int32_t n = 0; n < nodes; ++n) {
    graph.nodes.push_back({static_cast<float>(80 + random() % 120), 40});
    if (n == 0) continue;
    const auto back = [&] {
      return 1 + static_cast<std::int32_t>(random() % static_cast<unsigned>(std::min(n, reach)));
    };
    const bool branch = static_cast<int>(random() % 100) < branch_percent;
    graph.edges.push_back({branch ? n - back() : n - 1, n});
    if (static_cast<int>(random() % 100) < branch_percent) {
      const std::int32_t other = n - back();
      if (other != graph.edges.back().from) graph.edges.push_back({other, n});
    }
  }
  return graph;
}

// Renumbers nodes so that edges point to higher numbers, one branch after the other.
LayoutGraph inOrder(std::int32_t nodes, const std::vector<LayoutEdge>& edges) {
  std::vector<std::int32_t> missing(static_cast<std::size_t>(nodes), 0);
  for (const LayoutEdge& edge : edges) ++missing[edge.to];
  std::vector<std::int32_t> ready;
  for (std::int32_t n = 0; n < nodes; ++n) {
    if (missing[n] == 0) ready.push_back(n);
  }
  std::vector<std::int32_t> number(missing.size(), 0);
  LayoutGraph graph;
  while (!ready.empty()) {
    const std::int32_t n = ready.back();
    ready.pop_back();
    number[n] = static_cast<std::int32_t>(graph.nodes.size());
    graph.nodes.push_back({static_cast<float>(80 + n * 37 % 120), static_cast<float>(30 + n * 13 % 16)});
    for (const LayoutEdge& edge : edges) {
      if (edge.from == n && --missing[edge.to] == 0) ready.push_back(edge.to);
    }
  }
  for (const LayoutEdge& edge : edges) graph.edges.push_back({number[edge.from], number[edge.to]});
  return graph;
}

// Makes branches that part and join again, nested at random.
LayoutGraph seriesParallel(std::uint32_t seed, std::int32_t nodes) {
  std::mt19937 random(seed);
  std::vector<LayoutEdge> edges = {{0, 1}};
  for (std::int32_t n = 2; n < nodes; ++n) {
    const std::size_t at = random() % edges.size();
    const LayoutEdge edge = edges[at];
    if (random() % 3 != 0) {
      edges[at] = {edge.from, n};
    } else {
      edges.push_back({edge.from, n});
    }
    edges.push_back({n, edge.to});
  }
  return inOrder(nodes, edges);
}

// Makes a U-Net: down and up again, with a skip at each depth.
LayoutGraph uNet(std::int32_t depth) {
  std::vector<LayoutEdge> edges;
  std::vector<std::int32_t> skips;
  std::int32_t last = 0;
  const auto step = [&] { edges.push_back({last, last + 1}), ++last; };
  for (std::int32_t d = 0; d < depth; ++d) {
    step();
    skips.push_back(last);
    step();
  }
  for (; !skips.empty(); skips.pop_back()) {
    step();
    step();
    edges.push_back({skips.back(), last});
    step();
  }
  return inOrder(last + 1, edges);
}

// Makes blocks in which every layer reads all layers before it.
LayoutGraph denseBlocks(std::int32_t blocks, std::int32_t layers) {
  std::vector<LayoutEdge> edges;
  std::int32_t nodes = 1;
  for (std::int32_t b = 0; b < blocks; ++b) {
    std::vector<std::int32_t> features = {nodes - 1};
    for (std::int32_t l = 0; l <= layers; ++l) {
      const std::int32_t concat = nodes++;
      for (const std::int32_t feature : features) edges.push_back({feature, concat});
      if (l == layers) break;
      features.push_back(nodes++);
      edges.push_back({concat, features.back()});
    }
  }
  return inOrder(nodes, edges);
}

// Makes levels of features that are merged downwards and upwards, as in detectors.
LayoutGraph featurePyramids(std::int32_t pyramids, std::int32_t levels) {
  std::vector<LayoutEdge> edges;
  std::vector<std::int32_t> features;
  std::int32_t nodes = 0;
  for (std::int32_t l = 0; l < levels; ++l) {
    features.push_back(nodes++);
    if (l > 0) edges.push_back({features[features.size() - 2], features.back()});
  }
  for (std::int32_t p = 0; p < pyramids; ++p) {
    for (const bool upwards : {true, false}) {
      std::vector<std::int32_t> merged = features;
      for (std::int32_t i = 1; i < levels; ++i) {
        const std::int32_t level = upwards ? levels - 1 - i : i;
        const std::int32_t beside = upwards ? level + 1 : level - 1;
        edges.push_back({merged[beside], nodes});
        edges.push_back({nodes, nodes + 1});
        edges.push_back({features[level], nodes + 1});
        merged[level] = nodes + 1;
        nodes += 2;
      }
      features = merged;
    }
  }
  return inOrder(nodes, edges);
}

struct Drawing {
  std::string name;
  LayoutGraph graph;
};

std::vector<Drawing> drawings() {
  std::vector<Drawing> all;
  for (std::uint32_t seed = 1; seed <= 24; ++seed)
    all.push_back({"network", networkGraph(seed, 40 + static_cast<std::int32_t>(seed) * 10,
                                           15 + static_cast<int>(seed) % 4 * 10, 8)});
  for (std::uint32_t seed = 1; seed <= 12; ++seed)
    all.push_back({"series-parallel", seriesParallel(seed, 30 + static_cast<std::int32_t>(seed) * 20)});
  all.push_back({"series-parallel", seriesParallel(2700, 1500)});
  for (std::int32_t depth = 2; depth <= 6; ++depth) all.push_back({"u-net", uNet(depth)});
  for (std::int32_t layers = 3; layers <= 7; ++layers) all.push_back({"dense blocks", denseBlocks(2, layers)});
  for (std::int32_t levels = 3; levels <= 8; ++levels) {
    for (std::int32_t pyramids = 1; pyramids <= 8; ++pyramids)
      all.push_back({"feature pyramids", featurePyramids(pyramids, levels)});
  }
  return all;
}

// No graph may have more crossings than with dot; the average is not enough.
TEST(Crossings, AgainstDot) {
  if (std::system("dot -V >/dev/null 2>&1") != 0) GTEST_SKIP() << "Graphviz is not installed.";
  std::int64_t own_total = 0;
  std::int64_t dot_total = 0;
  for (const Drawing& drawing : drawings()) {
    const LayoutGraph& graph = drawing.graph;
    const std::vector<Line> dot = dotLines(graph);
    if (dot.empty()) continue;
    const std::int64_t own = crossings(ownLines(graph));
    const std::int64_t theirs = crossings(dot);
    std::printf("%s, %zu nodes, %zu edges: %lld crossings, dot %lld\n", drawing.name.c_str(), graph.nodes.size(),
                graph.edges.size(), static_cast<long long>(own), static_cast<long long>(theirs));
    EXPECT_LE(static_cast<double>(own), 1.5 * static_cast<double>(theirs))
        << drawing.name << " of " << graph.nodes.size();
    own_total += own;
    dot_total += theirs;
  }
  std::printf("together %lld, dot %lld: %.2f times (goal 1.5)\n", static_cast<long long>(own_total),
              static_cast<long long>(dot_total),
              static_cast<double>(own_total) / static_cast<double>(std::max<std::int64_t>(dot_total, 1)));
}

}  // namespace
}  // namespace ipex_studio
