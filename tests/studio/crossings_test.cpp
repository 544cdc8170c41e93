// Crossings against Graphviz's dot, where it is installed: the same graphs, the lines as they are drawn.
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

#include "studio/graph_layout.h"

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

// Pairs of edges without a common end that cross at least once.
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

// dot's splines as its control points sampled; empty when dot is not there or takes longer than a minute.
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

// As networks are: mostly chains, some branches, some skips.
LayoutGraph networkGraph(std::uint32_t seed, std::int32_t nodes, int branch_percent, int reach) {
  std::mt19937 random(seed);
  LayoutGraph graph;
  for (std::int32_t n = 0; n < nodes; ++n) {
    graph.nodes.push_back({static_cast<float>(80 + random() % 120), 40});
    if (n == 0) continue;
    const auto back = [&] { return 1 + static_cast<std::int32_t>(random() % static_cast<unsigned>(std::min(n, reach))); };
    const bool branch = static_cast<int>(random() % 100) < branch_percent;
    graph.edges.push_back({branch ? n - back() : n - 1, n});
    if (static_cast<int>(random() % 100) < branch_percent) {
      const std::int32_t other = n - back();
      if (other != graph.edges.back().from) graph.edges.push_back({other, n});
    }
  }
  return graph;
}

TEST(Crossings, AgainstDot) {
  if (std::system("dot -V >/dev/null 2>&1") != 0) GTEST_SKIP() << "Graphviz is not installed.";
  std::int64_t own_total = 0;
  std::int64_t dot_total = 0;
  for (std::uint32_t seed = 1; seed <= 24; ++seed) {
    const LayoutGraph graph =
        networkGraph(seed, 40 + static_cast<std::int32_t>(seed) * 10, 15 + static_cast<int>(seed) % 4 * 10, 8);
    const std::vector<Line> dot = dotLines(graph);
    if (dot.empty()) continue;
    const std::int64_t own = crossings(ownLines(graph));
    const std::int64_t theirs = crossings(dot);
    std::printf("%zu nodes, %zu edges: %lld crossings, dot %lld\n", graph.nodes.size(), graph.edges.size(),
                static_cast<long long>(own), static_cast<long long>(theirs));
    own_total += own;
    dot_total += theirs;
  }
  const double ratio = static_cast<double>(own_total) / static_cast<double>(std::max<std::int64_t>(dot_total, 1));
  std::printf("together %lld, dot %lld: %.2f times (goal 1.5)\n", static_cast<long long>(own_total),
              static_cast<long long>(dot_total), ratio);
  EXPECT_LE(ratio, 1.5);
}

}  // namespace
}  // namespace ipex_studio
