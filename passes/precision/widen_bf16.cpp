// Writes a graph that computes in BF16 as one in FP32, where insert-casts then chooses what BF16 is good for.
//   before  %x16 = to(%x, BFloat16)   %y : BFloat16 = conv2d(%x16, W16, …)   %z : BFloat16 = relu(%y)   return %z
//   after   %x32 = to(%x, Float)      %y : Float = conv2d(%x32, W32, …)      %z : Float = relu(%y)
//           %z16 = to(%z, BFloat16)   return %z16
// Fusions and most of what knows a form know FP32 only: a network that was converted or traced under autocast gets the
// plan that it would have got from its FP32 form. Constants keep their rounded values; inputs in BF16 are cast, and
// results of the model are cast back, so that its callers see no difference. One rewrite: a part of it would mix the
// two types. Runs for precision bf16, which is also taken for a model whose products all are in BF16 where the CPU
// multiplies BF16 (passes/optimize.cpp); before all that asks for dtypes, and after the writes are out of place.
// Declines: unsupported-operator, value-may-be-aliased-or-written, unknown-shape.
// Numerics: less rounding between operations.
#include <algorithm>

#include "core/graph/node_facts.h"
#include "core/graph/pass.h"
#include "passes/pass_list.h"
#include "passes/precision/change_floats.h"

namespace ipex_studio {
namespace {

using torch::jit::Graph;
using torch::jit::IValue;
using torch::jit::Node;
using torch::jit::Value;

bool isBf16(const Value* value) { return knownDtype(value) == at::kBFloat16; }

bool isTensor(const Value* value) { return value->type()->isSubtypeOf(*c10::TensorType::get()); }

bool holdsBf16(const IValue& constant) {
  bool found = false;
  constant.visit([&](const IValue& part) {
    found = found || (part.isTensor() && part.toTensor().defined() && part.toTensor().scalar_type() == at::kBFloat16);
    return found;
  });
  return found;
}

// Containers of tensors whose types the example run did not leave.
bool mayHoldTensors(const Value* value) {
  const auto kind = value->type()->kind();
  return kind == c10::TypeKind::ListType || kind == c10::TypeKind::TupleType || kind == c10::TypeKind::DictType ||
         kind == c10::TypeKind::OptionalType;
}

// Why a node keeps the graph as it is.
Decline whyNot(const Node* node) {
  const auto touches = [&] {
    return std::any_of(node->inputs().begin(), node->inputs().end(), isBf16) ||
           std::any_of(node->outputs().begin(), node->outputs().end(), isBf16);
  };
  if (node->kind() == c10::prim::Constant) {
    const auto value = torch::jit::toIValue(node->output());
    if (value && !value->isTensor() && holdsBf16(*value))
      return {reasons::kUnsupportedAttribute, "A constant that is no tensor holds BF16."};
    return {};
  }
  const bool is_state = node->kind() == c10::prim::GetAttr || node->kind() == c10::prim::SetAttr;
  if ((is_state || !(node->kind().is_aten() || node->kind().is_prim())) && touches())
    return {reasons::kUnsupportedOperator, "An operator that is not PyTorch's, or the model's state, is in BF16."};
  const c10::FunctionSchema* schema = node->maybeSchema();
  if (schema == nullptr) return {};
  if (schema->is_mutable() && touches()) return {reasons::kAliased, "A value in BF16 is written to."};
  if (isKind(node, "aten::view") && node->inputs().size() == 2 && isDtypeOperand(node, 1))
    return {reasons::kUnsupportedOperator, "Bits are read as another type."};
  return {};
}

Decline whyNot(Graph& graph) {
  for (const Value* input : graph.inputs()) {
    if (mayHoldTensors(input)) return {reasons::kUnknownShape, "An input of the model holds several values."};
  }
  for (const Node* node : allNodes(graph, /*with_constants=*/true)) {
    if (Decline why = whyNot(node)) return why;
  }
  std::vector<const Value*> results(graph.outputs().begin(), graph.outputs().end());
  while (!results.empty()) {
    const Value* result = results.back();
    results.pop_back();
    const auto kind = result->node()->kind();
    const bool is_made =
        kind == c10::prim::TupleConstruct || kind == c10::prim::ListConstruct || kind == c10::prim::DictConstruct;
    if (is_made) {
      results.insert(results.end(), result->node()->inputs().begin(), result->node()->inputs().end());
    } else if (mayHoldTensors(result) || (isTensor(result) && !knownDtype(result))) {
      return {reasons::kUnknownShape, "The type of a result was not seen in the example run."};
    }
  }
  return {};
}

bool widenBf16(Graph& graph, PassContext& context) {
  if (context.options.precision != Precision::kBf16) return false;
  FloatChange change(graph, context.rewriter, at::kBFloat16, at::kFloat);
  const auto low = change.concerned();
  if (low.empty()) return false;
  if (const Decline why = whyNot(graph)) {
    context.missed(low.front(), why);
    return false;
  }
  if (!context.rewriter.permit()) return false;
  change.run();
  context.rewriter.finish(low.front(), "FP32 for now; casts come where BF16 pays");
  return true;
}

}  // namespace

const Pass kWidenBf16 = {"widen-bf16", "Writes what the model computes in BF16 in FP32, for casts where they pay.",
                         &widenBf16};

}  // namespace ipex_studio
