// Writes a graph as Graphviz source, and its layout as SVG.
#include "studio/cli/graph_print.h"

#include <fmt/format.h>

#include <vector>

#include "studio/canvas/graph_layout.h"
#include "studio/snapshot/snapshot_index.h"

namespace ipex_studio {
namespace {

constexpr float kCharacterWidth = 6.6f;
constexpr float kBoxHeight = 40;
constexpr float kMargin = 20;
// One colour per KindGroup, in its order.
constexpr const char* kFills[kKindGroups] = {"#cfe3ff", "#d6f0d0", "#f6d6f0", "#ffe3c2", "#e4e0ff",
                                             "#fff3b8", "#d0f0ef", "#eeeeee", "#dddddd", "#f4f4f4"};

struct Edge {
  std::int32_t from, to;
  std::string label;
};

std::vector<Edge> edgesOf(const GraphSnapshot& graph) {
  std::vector<Edge> edges;
  for (const GraphNode& node : graph.nodes) {
    for (const std::int32_t input : node.inputs) {
      const GraphValue& value = graph.values[input];
      if (value.producer >= 0) edges.push_back({value.producer, node.id, formatShape(value.type)});
    }
    // A block is drawn below the node that owns it.
    if (node.parent >= 0) edges.push_back({node.parent, node.id, ""});
  }
  return edges;
}

std::string quoted(const std::string& text) {
  std::string result;
  for (const char c : displayText(text, 80)) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result;
}

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : displayText(text, 80)) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

const char* fillOf(const GraphNode& node) { return kFills[static_cast<int>(kindGroup(node.kind))]; }

}  // namespace

std::string graphAsDot(const GraphSnapshot& graph) {
  std::string dot =
      "digraph model {\n  node [shape=box, style=filled, fontname=\"sans-serif\", fontsize=10];\n"
      "  edge [fontname=\"sans-serif\", fontsize=8];\n";
  for (const GraphNode& node : graph.nodes) {
    dot += fmt::format("  n{} [label=\"{}\\n{}\", fillcolor=\"{}\"];\n", node.id, quoted(node.kind), quoted(node.name),
                       fillOf(node));
  }
  for (const Edge& edge : edgesOf(graph)) {
    dot += fmt::format("  n{} -> n{} [label=\"{}\"];\n", edge.from, edge.to, quoted(edge.label));
  }
  return dot + "}\n";
}

std::string graphAsSvg(const GraphSnapshot& graph) {
  LayoutGraph layout_graph;
  for (const GraphNode& node : graph.nodes) {
    const std::size_t characters = std::max(displayText(node.kind, 80).size(), displayText(node.name, 80).size());
    layout_graph.nodes.push_back({kCharacterWidth * static_cast<float>(characters) + 16, kBoxHeight});
  }
  for (const Edge& edge : edgesOf(graph)) layout_graph.edges.push_back({edge.from, edge.to});
  const Layout layout = layoutGraph(layout_graph, {}, nullptr);
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{:.0f}\" height=\"{:.0f}\" font-family=\"sans-serif\" "
      "font-size=\"11\">\n<g transform=\"translate({:.0f} {:.0f})\">\n",
      layout.width + 2 * kMargin, layout.height + 2 * kMargin, kMargin, kMargin);
  for (const LayoutRoute& route : layout.routes) {
    if (route.count == 0) continue;
    svg += "<polyline fill=\"none\" stroke=\"#777777\" points=\"";
    for (std::int32_t i = 0; i < route.count; ++i) {
      const LayoutPoint& point = layout.points[static_cast<std::size_t>(route.begin + i)];
      svg += fmt::format("{:.1f},{:.1f} ", point.x, point.y);
    }
    svg += "\"/>\n";
  }
  for (std::size_t i = 0; i < layout.corners.size(); ++i) {
    const LayoutPoint& corner = layout.corners[i];
    const GraphNode& node = graph.nodes[i];
    svg += fmt::format(
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.0f}\" rx=\"4\" fill=\"{}\" stroke=\"#555555\"/>\n"
        "<text x=\"{:.1f}\" y=\"{:.1f}\" font-weight=\"bold\">{}</text><text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n",
        corner.x, corner.y, layout_graph.nodes[i].width, kBoxHeight, fillOf(node), corner.x + 8, corner.y + 16,
        escaped(node.kind), corner.x + 8, corner.y + 32, escaped(node.name));
  }
  return svg + "</g>\n</svg>\n";
}

}  // namespace ipex_studio
