// See graph_facts.h.
#include "profiler/causes/graph_facts.h"

#include <algorithm>
#include <cstdlib>
#include <unordered_map>

namespace ipex_studio {
namespace {

constexpr std::string_view kDtypes[] = {"Float", "Double", "Half", "BFloat16", "Long",  "Int",
                                        "Short", "Char",   "Byte", "Bool",     "Tensor"};
// What is known of a tensor without its values.
constexpr std::string_view kSizeKinds[] = {"size",      "dim",        "len",       "numel",     "shape",
                                           "size_like", "zeros_like", "ones_like", "full_like", "empty_like",
                                           "new_zeros", "new_ones",   "new_full",  "new_empty", "is_floating_point",
                                           "dtype",     "device"};
// Operators whose results differ from call to call.
constexpr std::string_view kRandomWords[] = {"rand", "dropout", "bernoulli", "multinomial", "normal"};

template <std::size_t N>
bool contains(const std::string_view (&all)[N], std::string_view word) {
  return std::find(std::begin(all), std::end(all), word) != std::end(all);
}

bool isRandom(std::string_view kind) {
  return kind.find("norm") == std::string_view::npos &&
         std::any_of(std::begin(kRandomWords), std::end(kRandomWords),
                     [&](std::string_view word) { return kind.find(word) != std::string_view::npos; });
}

}  // namespace

std::string_view tensorDtype(std::string_view type) {
  const std::string_view word = type.substr(0, type.find('('));
  return contains(kDtypes, word) ? word : std::string_view();
}

std::int64_t tensorElements(std::string_view type) {
  const std::size_t open = type.find('(');
  if (open == std::string_view::npos || tensorDtype(type).empty()) return -1;
  std::int64_t product = 1;
  std::string sizes(type.substr(open + 1));
  const char* at = sizes.c_str();
  while (*at != ')' && *at != '\0') {
    char* end = nullptr;
    const std::int64_t size = std::strtoll(at, &end, 10);
    if (end == at) return -1;
    product *= std::clamp<std::int64_t>(size, 0, 1 << 30);
    if (product > (std::int64_t{1} << 32)) return product;
    at = end;
    while (*at == ',' || *at == ' ') ++at;
  }
  return product;
}

GraphFacts::GraphFacts(const GraphSnapshot& graph)
    : graph_(graph), users_(graph.nodes.size()), inside_(graph.nodes.size(), 0) {
  for (const GraphNode& node : graph.nodes) {
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const GraphNode* from = producer(node, i);
      if (from != nullptr && (users_[indexOf(*from)].empty() || users_[indexOf(*from)].back() != &node))
        users_[indexOf(*from)].push_back(&node);
    }
    if (const GraphNode* whole = enclosing(node)) ++inside_[indexOf(*whole)];
  }
  findDependent();
  findRepeated();
}

std::string_view GraphFacts::kind(const GraphNode& node) const {
  std::string_view kind = node.kind;
  const std::size_t colons = kind.rfind("::");
  if (colons != std::string_view::npos) kind.remove_prefix(colons + 2);
  if (kind.size() > 1 && kind.back() == '_') kind.remove_suffix(1);
  return kind;
}

bool GraphFacts::is(const GraphNode& node, std::initializer_list<std::string_view> kinds) const {
  return std::find(kinds.begin(), kinds.end(), kind(node)) != kinds.end();
}

const GraphValue* GraphFacts::value(std::int32_t id) const {
  return id >= 0 && static_cast<std::size_t>(id) < graph_.values.size() ? &graph_.values[id] : nullptr;
}

const GraphValue* GraphFacts::operandValue(const GraphNode& node, std::size_t operand) const {
  return operand < node.inputs.size() ? value(node.inputs[operand]) : nullptr;
}

const GraphNode* GraphFacts::producer(const GraphNode& node, std::size_t operand) const {
  const GraphValue* read = operandValue(node, operand);
  if (read == nullptr || read->producer < 0 || static_cast<std::size_t>(read->producer) >= graph_.nodes.size())
    return nullptr;
  return &graph_.nodes[read->producer];
}

std::string_view GraphFacts::constant(const GraphNode& node, std::size_t operand) const {
  const GraphValue* read = operandValue(node, operand);
  return read == nullptr ? std::string_view() : std::string_view(read->constant);
}

std::int32_t GraphFacts::operand(const GraphNode& node, std::size_t operand) const {
  const GraphValue* read = operandValue(node, operand);
  return read == nullptr ? -1 : name_[node.inputs[operand]];
}

const std::vector<const GraphNode*>& GraphFacts::users(const GraphNode& node) const { return users_[indexOf(node)]; }

std::string_view GraphFacts::dtype(const GraphNode& node, std::size_t operand) const {
  const GraphValue* read = operandValue(node, operand);
  return read == nullptr ? std::string_view() : tensorDtype(read->type);
}

std::string_view GraphFacts::resultDtype(const GraphNode& node) const {
  const GraphValue* made = node.outputs.empty() ? nullptr : value(node.outputs[0]);
  return made == nullptr ? std::string_view() : tensorDtype(made->type);
}

std::int64_t GraphFacts::elements(const GraphNode& node, std::size_t operand) const {
  const GraphValue* read = operandValue(node, operand);
  return read == nullptr ? -1 : tensorElements(read->type);
}

std::int64_t GraphFacts::resultElements(const GraphNode& node) const {
  const GraphValue* made = node.outputs.empty() ? nullptr : value(node.outputs[0]);
  return made == nullptr ? -1 : tensorElements(made->type);
}

const GraphNode* GraphFacts::enclosing(const GraphNode& node) const {
  const GraphNode* found = nullptr;
  const GraphNode* at = &node;
  // A parent stands before its nodes, so that this ends.
  while (at->parent >= 0 && static_cast<std::size_t>(at->parent) < indexOf(*at)) found = at = &graph_.nodes[at->parent];
  return found;
}

const GraphNode* GraphFacts::around(const GraphNode& node, std::string_view kind) const {
  const GraphNode* at = &node;
  while (at->parent >= 0 && static_cast<std::size_t>(at->parent) < indexOf(*at)) {
    at = &graph_.nodes[at->parent];
    if (at->kind == kind) return at;
  }
  return nullptr;
}

std::int32_t GraphFacts::inside(const GraphNode& node) const { return inside_[indexOf(node)]; }

// Inside of loops and branches everything is taken to depend on inputs: values come in unseen.
void GraphFacts::findDependent() {
  depends_.assign(graph_.nodes.size(), 0);
  for (const GraphNode& node : graph_.nodes) {
    bool depends = node.parent >= 0 || node.kind == "prim::Loop" || node.kind == "prim::If" || isRandom(kind(node));
    for (std::size_t i = 0; !depends && i < node.inputs.size(); ++i) {
      const GraphNode* from = producer(node, i);
      const GraphValue* read = operandValue(node, i);
      depends = from != nullptr ? depends_[indexOf(*from)] != 0
                                : read != nullptr && read->constant.empty() && !tensorDtype(read->type).empty();
    }
    depends_[indexOf(node)] = depends && !contains(kSizeKinds, kind(node)) ? 1 : 0;
  }
}

bool GraphFacts::dependsOnInputs(const GraphNode& node) const { return depends_[indexOf(node)] != 0; }

void GraphFacts::findRepeated() {
  repeated_.assign(graph_.nodes.size(), 0);
  name_.resize(graph_.values.size());
  for (std::size_t v = 0; v < name_.size(); ++v) name_[v] = static_cast<std::int32_t>(v);
  std::unordered_map<std::string, const GraphNode*> first;
  for (const GraphNode& node : graph_.nodes) {
    if (node.parent >= 0 || isRandom(kind(node)) || node.kind.rfind("aten::", 0) != 0 || node.kind.back() == '_')
      continue;
    if (is(node, {"contiguous", "clone", "detach", "alias"}) && !node.outputs.empty() &&
        value(node.outputs[0]) != nullptr && operand(node, 0) >= 0) {
      name_[node.outputs[0]] = operand(node, 0);  // the same values
      continue;
    }
    std::string key = node.kind;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const GraphValue* read = operandValue(node, i);
      const bool plain = read != nullptr && !read->constant.empty() && tensorDtype(read->type).empty();
      key += plain ? " =" + read->constant : " %" + std::to_string(operand(node, i));
    }
    const auto [same, fresh] = first.emplace(std::move(key), &node);
    if (fresh || same->second->outputs.size() != node.outputs.size()) continue;
    repeated_[indexOf(node)] = 1;
    for (std::size_t o = 0; o < node.outputs.size(); ++o) {
      if (value(node.outputs[o]) != nullptr && value(same->second->outputs[o]) != nullptr)
        name_[node.outputs[o]] = name_[same->second->outputs[o]];
    }
  }
}

bool GraphFacts::isRepeated(const GraphNode& node) const { return repeated_[indexOf(node)] != 0; }

}  // namespace ipex_studio
