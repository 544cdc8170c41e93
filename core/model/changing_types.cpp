#include "core/model/changing_types.h"

#include <algorithm>
#include <exception>
#include <string>
#include <unordered_set>

#include "core/torch/interpreted_node.h"
#include "core/torch/type_answers.h"

namespace ipex_studio {

using torch::jit::Block;
using torch::jit::Graph;
using torch::jit::IValue;
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

// True for types whose values nothing can write to.
bool isPlain(const c10::Type& type) {
  static const std::unordered_set<c10::TypeKind> kKinds = {c10::TypeKind::BoolType, c10::TypeKind::IntType,
                                                           c10::TypeKind::FloatType, c10::TypeKind::StringType,
                                                           c10::TypeKind::DeviceObjType};
  return kKinds.count(type.kind()) != 0;
}

// True if its one result is a number or the like that depends on its operands alone.
bool mayDecide(const Node* node) {
  return node->blocks().empty() && !node->inputs().empty() && node->outputs().size() == 1 &&
         isPlain(*node->output()->type()) && !isInterpreterInstruction(node->kind()) &&
         node->maybeSchema() != nullptr && !node->maybeSchema()->is_vararg() && !node->hasSideEffects() &&
         !node->isNondeterministic();
}

bool mayBeNone(const Value* value) {
  const auto kind = value->type()->kind();
  return kind == c10::TypeKind::OptionalType || kind == c10::TypeKind::NoneType || kind == c10::TypeKind::AnyType;
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

void ChangingTypes::forget(Graph& graph) {
  follow(graph.block());
  if (!changes_.empty()) forget(graph.block());
}

const Value* ChangingTypes::originOf(const Value* value) const {
  const auto found = origins_.find(value);
  return found == origins_.end() ? value : found->second;
}

std::optional<IValue> ChangingTypes::answerOf(const Value* value) const {
  const Value* origin = originOf(value);
  if (origin->node()->kind() == c10::prim::Constant) return torch::jit::toIValue(origin);
  const auto found = answers_.find(origin);
  return found == answers_.end() ? std::nullopt : std::optional<IValue>(found->second);
}

std::optional<bool> ChangingTypes::takenSide(const Node* condition) const {
  const auto answer = answerOf(condition->input(0));
  return answer && answer->isBool() ? std::optional<bool>(answer->toBool()) : std::nullopt;
}

// nullopt: no fact of the model.
std::optional<IValue> ChangingTypes::compute(const Node* node) const {
  if (!mayDecide(node)) return std::nullopt;
  const Value* first = originOf(node->input(0));
  if (const AskedFact asked = askedFact(node); asked != AskedFact::kNone) {
    const auto* type = first->type()->castRaw<c10::TensorType>();
    const Change change = changeOf(first);
    if (type == nullptr || (asked == AskedFact::kRank ? change.rank : change.dtype)) return std::nullopt;
    return answerByType(node, *type);
  }
  const bool is = node->kind() == c10::aten::__is__;
  if (is || node->kind() == c10::aten::__isnot__) {
    const Value* second = originOf(node->input(1));
    if (second->type()->kind() == c10::TypeKind::NoneType) std::swap(first, second);
    if (first->type()->kind() != c10::TypeKind::NoneType) return std::nullopt;
    if (second->type()->kind() == c10::TypeKind::NoneType) return IValue(is);
    return mayBeNone(second) ? std::nullopt : std::optional<IValue>(!is);
  }
  torch::jit::Stack stack;
  for (const Value* input : node->inputs()) {
    auto operand = answerOf(input);
    if (!operand || operand->isTensor()) return std::nullopt;
    stack.push_back(*std::move(operand));
  }
  try {
    node->getOperation()(stack);
  } catch (const std::exception&) {  // a division by zero, say, in a branch that is never taken
    return std::nullopt;
  }
  return stack.at(0);
}

void ChangingTypes::decide(const Node* node) {
  if (node->kind() != c10::prim::If) {
    if (auto answer = compute(node)) answers_.emplace(node->output(), *std::move(answer));
    return;
  }
  const auto side = takenSide(node);
  if (!side) return;
  const Block* taken = node->blocks()[*side ? 0 : 1];
  for (std::size_t o = 0; o < node->outputs().size(); ++o)
    origins_.emplace(node->output(o), originOf(taken->outputs()[o]));
}

void ChangingTypes::addBranches(const Node* condition) {
  for (std::size_t o = 0; o < condition->outputs().size(); ++o) {
    const auto one = condition->blocks()[0]->outputs()[o]->type()->cast<c10::TensorType>();
    const auto other = condition->blocks()[1]->outputs()[o]->type()->cast<c10::TensorType>();
    if (!one || !other) continue;
    add(condition->output(o), {one->dim() && other->dim() && *one->dim() != *other->dim(),
                               one->scalarType() && other->scalarType() && *one->scalarType() != *other->scalarType()});
  }
}

void ChangingTypes::follow(const Block* block) {
  for (const Node* node : block->nodes()) {
    for (const Block* inner : node->blocks()) follow(inner);
    if (node->kind() == c10::prim::If && !takenSide(node)) addBranches(node);
    for (std::size_t o = 0; o < node->outputs().size(); ++o) add(node->output(o), resultOf(node, o));
    decide(node);
  }
}

// An output changes with its operands, or with the values that a block hands on.
ChangingTypes::Change ChangingTypes::resultOf(const Node* node, std::size_t output) const {
  Change change = changeOf(node->output(output));
  if (node->kind() == c10::prim::If) {
    if (const auto side = takenSide(node)) return changeOf(node->blocks()[*side ? 0 : 1]->outputs()[output]);
  }
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
    for (Value* output : node->outputs()) {
      if (const Change change = changeOf(output); change.any()) forgetType(output, change);
    }
  }
}

}  // namespace ipex_studio
