// Facts about a node in one line: sizes of its weight and window, else the shape of its result.
#include <cstdlib>
#include <vector>

#include "studio/panels/graph/graph_scene.h"

namespace ipex_studio {
namespace {

// The first numbers in "[2, 2]", "2, 2" or "Float(64, 3, 7, 7, strides=…)"; stops at other text.
std::vector<long> numbersIn(const std::string& text, std::size_t from) {
  std::vector<long> numbers;
  for (std::size_t i = from; i < text.size() && numbers.size() < 8;) {
    const char c = text[i];
    if (c >= '0' && c <= '9') {
      char* end = nullptr;
      numbers.push_back(std::strtol(text.c_str() + i, &end, 10));
      i = static_cast<std::size_t>(end - text.c_str());
    } else if (c == ' ' || c == ',' || c == '[' || c == '(' || c == 'x') {
      ++i;
    } else {
      break;
    }
  }
  return numbers;
}

const GraphValue* inputOf(const GraphSnapshot& graph, const GraphNode& node, std::size_t operand) {
  if (operand >= node.inputs.size()) return nullptr;
  const std::int32_t id = node.inputs[operand];
  return id >= 0 && static_cast<std::size_t>(id) < graph.values.size() ? &graph.values[id] : nullptr;
}

std::vector<long> shapeOf(const GraphValue* value) {
  if (value == nullptr) return {};
  const std::size_t open = value->type.find('(');
  return open == std::string::npos ? std::vector<long>() : numbersIn(value->type, open + 1);
}

// Numbers of an attribute: the node's own, else that in its spec, else those of the operand that aten operators have
// for it.
std::vector<long> numbersOf(const GraphSnapshot& graph, const GraphNode& node, const std::string& name,
                            std::size_t operand) {
  for (const auto& [key, text] : node.attributes) {
    if (key == name) return numbersIn(text, 0);
    if (key != "spec") continue;
    const std::size_t at = text.find(name + "=");
    if (at != std::string::npos) return numbersIn(text, at + name.size() + 1);
  }
  const GraphValue* value = inputOf(graph, node, operand);
  return value == nullptr ? std::vector<long>() : numbersIn(value->constant, 0);
}

std::string times(const std::vector<long>& numbers, std::size_t from, std::size_t to) {
  std::string text;
  for (std::size_t i = from; i < to && i < numbers.size(); ++i)
    text += (i > from ? "×" : "") + std::to_string(numbers[i]);
  return text;
}

std::string convolutionFacts(const GraphSnapshot& graph, const GraphNode& node) {
  const std::vector<long> weight = shapeOf(inputOf(graph, node, 1));
  if (weight.size() < 3) return {};
  const std::vector<long> source = shapeOf(inputOf(graph, node, 0));
  const long in = source.size() == weight.size() ? source[1] : weight[1];
  std::string facts = std::to_string(in) + "→" + std::to_string(weight[0]) + " " + times(weight, 2, weight.size());
  const std::vector<long> stride = numbersOf(graph, node, "stride", 3);
  if (!stride.empty() && stride[0] > 1) facts += " s" + std::to_string(stride[0]);
  if (weight[1] == 1 && in > 1) facts += " depthwise";
  return facts;
}

std::string linearFacts(const GraphSnapshot& graph, const GraphNode& node) {
  const std::vector<long> weight = shapeOf(inputOf(graph, node, 1));
  if (weight.size() != 2) return {};
  return std::to_string(weight[1]) + "→" + std::to_string(weight[0]);
}

std::string poolFacts(const GraphSnapshot& graph, const GraphNode& node) {
  const std::vector<long> window = numbersOf(graph, node, "kernel", 1);
  const std::vector<long> stride = numbersOf(graph, node, "stride", 2);
  if (window.size() < 2 || stride.empty()) return {};
  return times(window, 0, window.size()) + " s" + std::to_string(stride[0]);
}

}  // namespace

std::string nodeFacts(const GraphSnapshot& graph, const GraphNode& node) {
  const KindGroup group = kindGroup(node.kind);
  std::string facts;
  if (group == KindGroup::kConvolution) facts = convolutionFacts(graph, node);
  if (group == KindGroup::kLinear) facts = linearFacts(graph, node);
  if (group == KindGroup::kPooling) facts = poolFacts(graph, node);
  if (!facts.empty() || node.outputs.empty()) return facts;
  const std::int32_t id = node.outputs.front();
  if (id < 0 || static_cast<std::size_t>(id) >= graph.values.size()) return facts;
  return formatShape(graph.values[id].type);
}

}  // namespace ipex_studio
