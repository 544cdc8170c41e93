// GraphSnapshot: the graph as plain data, small enough for the database and complete enough to draw.
#include <algorithm>
#include <sstream>
#include <vector>

#include <fmt/format.h>

#include "core/graph/labels.h"
#include "core/pipeline/pipeline.h"

namespace ipex_studio {

using torch::jit::Block;
using torch::jit::Graph;
using torch::jit::IValue;
using torch::jit::Node;
using torch::jit::Value;
namespace prim = torch::jit::prim;

namespace {

constexpr std::size_t kConstantCharacters = 120;
constexpr std::size_t kLineCharacters = 400;
// Longer lists print their first elements only.
constexpr std::size_t kListElements = 16;

std::string cut(std::string text, std::size_t limit) {
  if (text.size() <= limit) return text;
  std::size_t end = limit;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0U) == 0x80U) --end;
  text.resize(end);
  return text + "…";
}

std::string typeText(const c10::TypePtr& type) {
  const auto tensor = type->cast<c10::TensorType>();
  if (!tensor || !tensor->scalarType()) return cut(type->repr_str(), kConstantCharacters);
  std::string text = c10::toString(*tensor->scalarType());
  const auto sizes = tensor->sizes().sizes();
  if (!sizes) return text;
  text += "(";
  for (std::size_t i = 0; i < sizes->size(); ++i) {
    if (i > 0) text += ", ";
    text += (*sizes)[i] ? std::to_string(*(*sizes)[i]) : "*";
  }
  return text + ")";
}

std::string printed(const IValue& value) {
  if (value.isTensor()) {
    const at::Tensor& tensor = value.toTensor();
    if (!tensor.defined()) return "undefined";
    std::string sizes;
    for (const auto size : tensor.sizes()) sizes += (sizes.empty() ? "" : ", ") + std::to_string(size);
    if (tensor.numel() == 1 && !tensor.is_complex() && !tensor.is_quantized() && tensor.device().is_cpu()) {
      return fmt::format("tensor {}", tensor.item().toDouble());
    }
    return fmt::format("{}({})", c10::toString(tensor.scalar_type()), sizes);
  }
  if (value.isList()) {
    std::string text = "[";
    std::size_t count = 0;
    for (const IValue& item : value.toListRef()) {
      if (count > 0) text += ", ";
      if (count++ == kListElements) {
        text += "…";
        break;
      }
      text += printed(item);
    }
    return text + "]";
  }
  if (value.isObject()) return value.type()->repr_str();
  if (value.isString()) return value.toStringRef();
  std::ostringstream text;
  text << value;
  return text.str();
}

std::string constantText(const Value* value) {
  if (value->node()->kind() != prim::Constant) return "";
  const auto constant = torch::jit::toIValue(value);
  return cut(constant ? printed(*constant) : "constant", kConstantCharacters);
}

class SnapshotBuilder {
 public:
  SnapshotBuilder(const OriginTable& origins, GraphSnapshot& snapshot) : origins_(origins), snapshot_(snapshot) {}

  void graph(Graph& graph) {
    for (const Value* input : graph.inputs()) snapshot_.inputs.push_back(define(input, -1));
    block(graph.block(), -1);
    for (const Value* output : graph.outputs()) snapshot_.outputs.push_back(idOf(output));
  }

 private:
  std::int32_t define(const Value* value, std::int32_t producer) {
    GraphValue record;
    record.id = static_cast<std::int32_t>(snapshot_.values.size());
    record.name = value->debugName();
    record.type = typeText(value->type());
    record.producer = producer;
    record.constant = constantText(value);
    const std::size_t place = value->unique();
    if (place >= ids_.size()) ids_.resize(place + 1 + place / 2, -1);
    ids_[place] = record.id;
    snapshot_.values.push_back(std::move(record));
    return snapshot_.values.back().id;
  }

  std::int32_t idOf(const Value* value) {
    const std::int32_t known = value->unique() < ids_.size() ? ids_[value->unique()] : -1;
    return known < 0 ? define(value, -1) : known;
  }

  void block(const Block* block, std::int32_t parent) {
    for (const Value* input : block->inputs()) {
      if (parent >= 0) define(input, parent);
    }
    for (const Node* node : block->nodes()) {
      if (node->kind() == prim::Constant) {
        for (const Value* output : node->outputs()) define(output, -1);
      } else {
        this->node(node, parent);
      }
    }
  }

  void node(const Node* node, std::int32_t parent) {
    const auto id = static_cast<std::int32_t>(snapshot_.nodes.size());
    GraphNode record;
    record.id = id;
    record.parent = parent;
    record.kind = node->kind().toQualString();
    record.origins = origins_.of(node);
    record.name = fusedNodeLabel(origins_, node);
    if (record.name.empty()) record.name = origins_.label(record.origins);
    if (record.name.empty()) record.name = record.kind;
    record.scope = scopeOf(record.origins);
    for (const Value* input : node->inputs()) record.inputs.push_back(idOf(input));
    for (const Value* output : node->outputs()) record.outputs.push_back(define(output, id));
    record.attributes = attributesOf(node);
    snapshot_.nodes.push_back(std::move(record));
    for (const Block* nested : node->blocks()) block(nested, id);
  }

  std::string scopeOf(const std::vector<OriginId>& ids) const {
    for (const OriginId id : ids) {
      const std::string& path = origins_.origins()[static_cast<std::size_t>(id)].module_path;
      if (!path.empty()) return path;
    }
    return "";
  }

  static std::vector<std::pair<std::string, std::string>> attributesOf(const Node* node) {
    std::vector<std::pair<std::string, std::string>> attributes;
    for (const auto name : node->attributeNames()) {
      std::string text = node->kindOf(name) == torch::jit::AttributeKind::s ? node->s(name) : "";
      if (node->kindOf(name) == torch::jit::AttributeKind::i) text = std::to_string(node->i(name));
      if (!text.empty()) attributes.emplace_back(name.toUnqualString(), cut(text, kConstantCharacters));
    }
    const auto* schema = node->maybeSchema();
    if (schema == nullptr) return attributes;
    const std::size_t count = std::min(schema->arguments().size(), node->inputs().size());
    for (std::size_t i = 0; i < count; ++i) {
      std::string text = argumentText(node->input(i));
      if (!text.empty()) attributes.emplace_back(schema->arguments()[i].name(), std::move(text));
    }
    return attributes;
  }

  // The text of constant arguments and of lists of constants; tensors are operands.
  static std::string argumentText(const Value* value) {
    const auto kind = value->node()->kind();
    if (value->type()->kind() == c10::TypeKind::TensorType) return "";
    if (kind == prim::Constant) return constantText(value);
    if (kind != prim::ListConstruct) return "";
    std::string text = "[";
    for (const Value* item : value->node()->inputs()) {
      if (item->type()->kind() == c10::TypeKind::TensorType) return "";
      const std::string constant = constantText(item);
      text += (text.size() > 1 ? ", " : "") + (constant.empty() ? "%" + item->debugName() : constant);
    }
    return cut(text + "]", kConstantCharacters);
  }

  const OriginTable& origins_;
  GraphSnapshot& snapshot_;
  std::vector<std::int32_t> ids_;  // by Value::unique(); -1: not met yet
};

// libtorch prints tensors as <Tensor> but strings and lists whole.
std::string shortText(const Graph& graph) {
  std::istringstream lines(graph.toString(false));
  std::string text;
  std::string line;
  while (std::getline(lines, line)) text += cut(std::move(line), kLineCharacters) + "\n";
  return text;
}

}  // namespace

GraphSnapshot makeSnapshot(Graph& graph, const OriginTable& origins, int pass_index, const std::string& after_pass) {
  GraphSnapshot snapshot;
  snapshot.pass_index = pass_index;
  snapshot.after_pass = after_pass;
  SnapshotBuilder(origins, snapshot).graph(graph);
  snapshot.text = shortText(graph);
  return snapshot;
}

int countNodes(const Graph& graph) { return GraphIndex(const_cast<Graph&>(graph)).nodes(); }  // it only reads

}  // namespace ipex_studio
