#include "passes/precision/change_floats.h"

#include <algorithm>

#include "core/graph/node_facts.h"
#include "core/graph/origins.h"

namespace ipex_studio {

using torch::jit::Node;
using torch::jit::Value;

namespace {

std::int64_t codeOf(at::ScalarType dtype) { return static_cast<std::int64_t>(dtype); }

bool isConstruct(const Node* node) {
  return node->kind() == c10::prim::TupleConstruct || node->kind() == c10::prim::ListConstruct ||
         node->kind() == c10::prim::DictConstruct;
}

}  // namespace

bool isDtypeOperand(const Node* node, std::size_t operand) {
  const auto* schema = node->maybeSchema();
  return schema != nullptr && operand < schema->arguments().size() && schema->arguments()[operand].name() == "dtype";
}

std::vector<Node*> FloatChange::concerned() const {
  std::vector<Node*> found;
  for (Node* node : allNodes(graph_)) {
    if (isConcerned(node)) found.push_back(node);
  }
  return found;
}

void FloatChange::run() {
  castResults();
  castInputs();
  for (Node* node : allNodes(graph_)) change(node);
}

bool FloatChange::isOld(const Value* value) const {
  const auto type = value->type()->cast<c10::TensorType>();
  return type && type->scalarType() == from_;
}

bool FloatChange::isConcerned(const Node* node) const {
  if (isBorderCast(node) || isConstruct(node)) return false;
  const auto is_old = [&](const Value* value) { return isOld(value); };
  return std::any_of(node->outputs().begin(), node->outputs().end(), is_old) ||
         std::any_of(node->inputs().begin(), node->inputs().end(), is_old);
}

// True for casts that stay: of an input to the new type, and of a result back.
bool FloatChange::isBorderCast(const Node* node) const {
  if (node->kind() != c10::aten::to || node->inputs().size() != 5) return false;
  const auto code = constantInt(node->input(1));
  if (code == codeOf(to_)) return node->input(0)->node()->kind() == c10::prim::Param;
  return code == codeOf(from_) && !isOld(node->input(0)) &&
         std::all_of(node->output()->uses().begin(), node->output()->uses().end(), [](const torch::jit::Use& use) {
           return use.user->kind() == c10::prim::Return || isConstruct(use.user);
         });
}

// The operands that leave the model: those of its return, through tuples, lists and dictionaries.
void FloatChange::addResults(Node* node, std::vector<std::pair<Node*, std::size_t>>* results) const {
  for (std::size_t i = 0; i < node->inputs().size(); ++i) {
    Node* from = node->input(i)->node();
    if (isConstruct(from)) addResults(from, results);
    if (isOld(node->input(i))) results->emplace_back(node, i);
  }
}

void FloatChange::setNew(Value* value) const {
  if (isOld(value)) value->setType(value->type()->expect<c10::TensorType>()->withScalarType(to_));
}

Value* FloatChange::cast(Value* value, at::ScalarType dtype, Node* before) {
  Value* no = rewriter_.constant(false, before);
  Node* to = rewriter_.create(
      "aten::to", {value, rewriter_.constant(codeOf(dtype), before), no, no, rewriter_.none(before)}, before);
  to->output()->setType(value->type()->expect<c10::TensorType>()->withScalarType(dtype));
  return to->output();
}

void FloatChange::castResults() {
  std::vector<std::pair<Node*, std::size_t>> results;
  addResults(graph_.return_node(), &results);
  for (const auto& [node, operand] : results) {
    Value* back = cast(node->input(operand), from_, node);
    kept_.push_back(back->node());
    rewriter_.replaceInput(node, operand, back);
  }
}

void FloatChange::castInputs() {
  for (Value* input : graph_.inputs()) {
    if (!isOld(input)) continue;
    Value* made = cast(input, to_, *graph_.nodes().begin());
    rewriter_.replaceUsesAfter(made->node(), input, made);
  }
}

void FloatChange::change(Node* node) {
  if (std::find(kept_.begin(), kept_.end(), node) != kept_.end()) return;
  for (std::size_t i = 0; i < node->inputs().size(); ++i) {
    Value* input = node->input(i);
    if (const auto tensor = constantTensor(input); tensor && tensor->scalar_type() == from_)
      rewriter_.replaceInput(node, i, changed(input, *tensor));
    if (isDtypeOperand(node, i) && constantInt(input) == codeOf(from_))
      rewriter_.replaceInput(node, i, rewriter_.constant(codeOf(to_), node));
  }
  for (Value* output : node->outputs()) setNew(output);
  for (torch::jit::Block* block : node->blocks()) {
    for (Value* input : block->inputs()) setNew(input);
  }
}

// One constant for all that read it.
Value* FloatChange::changed(Value* value, const at::Tensor& tensor) {
  Value*& made = constants_[value];
  if (made == nullptr) made = rewriter_.constant(tensor.detach().to(to_), *graph_.nodes().begin());
  return made;
}

}  // namespace ipex_studio
