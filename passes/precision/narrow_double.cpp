// Computes in FP32 what the model computes in double precision, where a user has decided so ("kind:double=fp32").
//   before  %w : Double(8) = constant   %y : Double(4, 8) = mul(%x, %w)     %z : Float(4, 8) = to(%y, 6, …)
//   after   %w : Float(8) = constant    %y : Float(4, 8) = mul(%x, %w)      %z : Float(4, 8) = to(%y, 6, …)
// Constants and the dtypes that operators are given become FP32; inputs in double precision are cast, and results of
// the model are cast back, so that its callers see no difference. One rewrite: a part of it would mix the two.
// Runs first of the passes that ask for dtypes, so that all others see FP32. Numerics: FP32 in the place of FP64.
#include <algorithm>

#include "core/graph/fused_op.h"
#include "core/graph/pass.h"
#include "core/record/double_operations.h"
#include "passes/pass_list.h"

namespace ipex_studio {

using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;

namespace {

constexpr std::int64_t kFloatCode = 6, kDoubleCode = 7;  // at::ScalarType as operators take it

bool isDouble(const Value* value) {
  const auto type = value->type()->cast<c10::TensorType>();
  return type && type->scalarType() == at::kDouble;
}

void setFloat(Value* value) { value->setType(value->type()->expect<c10::TensorType>()->withScalarType(at::kFloat)); }

// True if the operand says the dtype of the operator's result.
bool isDtypeOperand(const Node* node, std::size_t operand) {
  const auto* schema = node->maybeSchema();
  return schema != nullptr && operand < schema->arguments().size() && schema->arguments()[operand].name() == "dtype";
}

bool isConstruct(const Node* node) {
  return node->kind() == c10::prim::TupleConstruct || node->kind() == c10::prim::ListConstruct ||
         node->kind() == c10::prim::DictConstruct;
}

// The operands that leave the model: those of its return, through tuples, lists and dictionaries.
void addResults(Node* node, std::vector<std::pair<Node*, std::size_t>>* results) {
  for (std::size_t i = 0; i < node->inputs().size(); ++i) {
    Node* from = node->input(i)->node();
    if (isConstruct(from)) addResults(from, results);
    if (isDouble(node->input(i))) results->emplace_back(node, i);
  }
}

// True for casts that stay: of an input to FP32, and of a result back.
bool isBorderCast(const Node* node) {
  if (node->kind() != c10::aten::to || node->inputs().size() != 5) return false;
  const auto code = constantInt(node->input(1));
  if (code == kFloatCode) return node->input(0)->node()->kind() == c10::prim::Param;
  return code == kDoubleCode && !isDouble(node->input(0)) &&
         std::all_of(node->output()->uses().begin(), node->output()->uses().end(), [](const torch::jit::Use& use) {
           return use.user->kind() == c10::prim::Return || isConstruct(use.user);
         });
}

class DoubleNarrower {
 public:
  DoubleNarrower(Graph& graph, Rewriter& rewriter) : graph_(graph), rewriter_(rewriter) {}

  // Returns whether there was anything in double precision.
  bool run() {
    std::vector<Node*> doubles;
    for (Node* node : allNodes(graph_)) {
      if (makesDouble(node)) doubles.push_back(node);
    }
    if (doubles.empty() || !rewriter_.permit()) return false;
    std::vector<std::pair<Node*, std::size_t>> results;
    addResults(graph_.return_node(), &results);
    castResults(results);
    castInputs();
    for (Node* node : allNodes(graph_)) narrow(node);
    rewriter_.finish(doubles.front(), "computes in FP32 what was in double precision");
    return true;
  }

 private:
  static bool makesDouble(const Node* node) {
    if (isBorderCast(node) || isConstruct(node)) return false;
    return std::any_of(node->outputs().begin(), node->outputs().end(), isDouble) ||
           std::any_of(node->inputs().begin(), node->inputs().end(), isDouble);
  }

  Value* cast(Value* value, std::int64_t code, Node* before) {
    Value* no = rewriter_.constant(false, before);
    Node* to =
        rewriter_.create("aten::to", {value, rewriter_.constant(code, before), no, no, rewriter_.none(before)}, before);
    to->output()->setType(
        value->type()->expect<c10::TensorType>()->withScalarType(code == kFloatCode ? at::kFloat : at::kDouble));
    return to->output();
  }

  void castResults(const std::vector<std::pair<Node*, std::size_t>>& results) {
    for (const auto& [node, operand] : results) {
      Value* back = cast(node->input(operand), kDoubleCode, node);
      kept_.push_back(back->node());
      rewriter_.replaceInput(node, operand, back);
    }
  }

  void castInputs() {
    for (Value* input : graph_.inputs()) {
      if (!isDouble(input)) continue;
      Value* narrow = cast(input, kFloatCode, *graph_.nodes().begin());
      rewriter_.replaceUsesAfter(narrow->node(), input, narrow);
    }
  }

  void narrow(Node* node) {
    if (std::find(kept_.begin(), kept_.end(), node) != kept_.end()) return;
    for (std::size_t i = 0; i < node->inputs().size(); ++i) {
      Value* input = node->input(i);
      if (const auto tensor = constantTensor(input); tensor && tensor->scalar_type() == at::kDouble)
        rewriter_.replaceInput(node, i, narrowed(input, *tensor));
      if (isDtypeOperand(node, i) && constantInt(input) == kDoubleCode)
        rewriter_.replaceInput(node, i, rewriter_.constant(kFloatCode, node));
    }
    for (Value* output : node->outputs()) {
      if (isDouble(output)) setFloat(output);
    }
    for (torch::jit::Block* block : node->blocks()) {
      for (Value* input : block->inputs()) {
        if (isDouble(input)) setFloat(input);
      }
    }
  }

  // One constant for all that read it.
  Value* narrowed(Value* value, const at::Tensor& tensor) {
    Value*& made = constants_[value];
    if (made == nullptr) {
      made = rewriter_.constant(tensor.to(at::kFloat), *graph_.nodes().begin());
    }
    return made;
  }

  Graph& graph_;
  Rewriter& rewriter_;
  std::vector<Node*> kept_;  // casts of results back to double precision
  std::unordered_map<Value*, Value*> constants_;
};

bool narrowDouble(Graph& graph, PassContext& context) {
  const auto& decided = context.options.precision_overrides;
  if (std::find(decided.begin(), decided.end(), std::string(kDoubleOperations) + "=fp32") == decided.end())
    return false;
  return DoubleNarrower(graph, context.rewriter).run();
}

}  // namespace

const Pass kNarrowDouble = {
    "narrow-double", "Computes in FP32 what is in double precision, where that is decided by hand.", &narrowDouble};

}  // namespace ipex_studio
