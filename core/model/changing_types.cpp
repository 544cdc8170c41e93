#include "core/model/changing_types.h"

#include <string>
#include <unordered_set>

namespace ipex_studio {

using torch::jit::Block;
using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;

namespace {

// Operators whose results have the same number of dimensions whatever that of their operands is.
bool fixesRank(const Node* node) {
  static const std::unordered_set<std::string> kKinds = {"aten::numel", "aten::nonzero", "torchvision::nms",
                                                         "torchvision::roi_align"};
  if (kKinds.count(node->kind().toQualString()) != 0) return true;
  // The size of one axis.
  if (node->kind() == c10::aten::size) return node->inputs().size() == 2;
  // A new shape with a number for each axis.
  const bool shapes = node->kind() == c10::aten::view || node->kind() == c10::aten::reshape;
  return shapes && node->input(1)->node()->kind() == c10::prim::ListConstruct;
}

bool fixesDtype(const Node* node) {
  static const std::unordered_set<std::string> kKinds = {
      "aten::size", "aten::numel", "aten::dim", "aten::len", "aten::gt",      "aten::ge",
      "aten::lt",   "aten::le",    "aten::eq",  "aten::ne",  "aten::nonzero", "torchvision::nms"};
  return kKinds.count(node->kind().toQualString()) != 0;
}

void forgetType(Value* value, ChangingTypes::Change change) {
  if (!value->type()->isSubtypeOf(*c10::TensorType::get())) return;
  const auto type = value->type()->cast<c10::TensorType>();
  const bool keeps_dtype = type && type->scalarType() && !change.dtype;
  value->setType(keeps_dtype ? c10::TensorType::get()->withScalarType(*type->scalarType())->withDevice(type->device())
                             : c10::TensorType::get());
}

}  // namespace

void ChangingTypes::add(const Value* value, Change change) {
  if (!change.any()) return;
  Change& known = changes_[value];
  known = {known.rank || change.rank, known.dtype || change.dtype};
}

ChangingTypes::Change ChangingTypes::changeOf(const Value* value) const {
  const auto found = changes_.find(value);
  return found == changes_.end() ? Change{} : found->second;
}

void ChangingTypes::addBranches(Graph& graph) { addBranches(graph.block()); }

void ChangingTypes::addBranches(Block* block) {
  for (Node* node : block->nodes()) {
    for (Block* inner : node->blocks()) addBranches(inner);
    if (node->kind() != c10::prim::If) continue;
    for (std::size_t o = 0; o < node->outputs().size(); ++o) {
      const auto one = node->blocks()[0]->outputs()[o]->type()->cast<c10::TensorType>();
      const auto other = node->blocks()[1]->outputs()[o]->type()->cast<c10::TensorType>();
      if (!one || !other) continue;
      add(node->output(o), {one->dim() && other->dim() && *one->dim() != *other->dim(),
                            one->scalarType() && other->scalarType() && *one->scalarType() != *other->scalarType()});
    }
  }
}

void ChangingTypes::forget(Graph& graph) {
  if (!changes_.empty()) forget(graph.block());
}

// An output changes with its operands, or with the values that a block hands on.
ChangingTypes::Change ChangingTypes::resultOf(const Node* node, std::size_t output) const {
  Change change = changeOf(node->output(output));
  const auto join = [&](Change other) { change = {change.rank || other.rank, change.dtype || other.dtype}; };
  const bool loop = node->kind() == c10::prim::Loop;  // whose body also takes the round and gives whether it goes on
  if (loop || node->kind() == c10::prim::If) {
    for (const Block* block : node->blocks()) {
      join(changeOf(block->outputs()[output + (loop ? 1 : 0)]));
      if (loop) join(changeOf(block->inputs()[output + 1]));
    }
    return change;
  }
  Change read;
  for (const Value* input : node->inputs()) {
    const Change of_input = changeOf(input);
    read = {read.rank || of_input.rank, read.dtype || of_input.dtype};
  }
  join({read.rank && !fixesRank(node), read.dtype && !fixesDtype(node)});
  return change;
}

void ChangingTypes::forget(Block* block) {
  for (Node* node : block->nodes()) {
    for (Block* inner : node->blocks()) forget(inner);
    for (std::size_t o = 0; o < node->outputs().size(); ++o) {
      const Change change = resultOf(node, o);
      if (!change.any()) continue;
      add(node->output(o), change);
      forgetType(node->output(o), change);
    }
  }
}

}  // namespace ipex_studio
