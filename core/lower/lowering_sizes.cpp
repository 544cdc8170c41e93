// Compares what a plan would compute for the sizes of the example run with what the example run gave.
#include "core/graph/node_facts.h"
#include "core/lower/lowering_builder.h"
#include "core/op/shape_inference.h"
#include "core/torch/tensor_bridge.h"

namespace ipex_studio::lowering {
namespace {

using torch::jit::Node;
using torch::jit::Value;

constexpr int kDeepest = 32;  // of size arithmetic; deeper sizes are not computed here

// An integer of the graph for the sizes of the example run; nullopt if it depends on more than sizes.
std::optional<std::int64_t> exampleInt(const Value* value, int depth) {
  if (const auto constant = constantInt(value)) return constant;
  const Node* node = value->node();
  if (depth == kDeepest || !isSizeArithmetic(node)) return std::nullopt;
  if (node->kind() == c10::aten::size) {
    const auto sizes = knownSizes(node->input(0));
    const auto axis = constantInt(node->input(1));
    if (!sizes || !axis) return std::nullopt;
    const auto rank = static_cast<std::int64_t>(sizes->size());
    if (*axis < -rank || *axis >= rank) return std::nullopt;
    return (*sizes)[static_cast<std::size_t>(*axis < 0 ? *axis + rank : *axis)];
  }
  std::vector<std::int64_t> operands;
  for (const Value* input : node->inputs()) {
    const auto operand = exampleInt(input, depth + 1);
    if (!operand) return std::nullopt;
    operands.push_back(*operand);
  }
  std::int64_t result = 0;
  const bool overflows = node->kind() == c10::aten::add   ? __builtin_add_overflow(operands[0], operands[1], &result)
                         : node->kind() == c10::aten::sub ? __builtin_sub_overflow(operands[0], operands[1], &result)
                         : node->kind() == c10::aten::mul ? __builtin_mul_overflow(operands[0], operands[1], &result)
                                                          : true;
  if (!overflows) return result;
  return std::nullopt;
}

// The operation with the integers that it takes from the graph; nullopt if they are not known here.
std::optional<OpSpec> resolved(const LoweredOp& op) {
  OpSpec spec = op.spec;
  for (const LoweredRef& ref : op.refs) {
    const auto number = exampleInt(ref.value, 0);
    if (!number) return std::nullopt;
    AttrValue& attribute = spec.attributes.at(ref.attribute);
    if (ref.index < 0) {
      attribute = *number;
    } else {
      std::get<std::vector<std::int64_t>>(attribute).at(static_cast<std::size_t>(ref.index)) = *number;
    }
  }
  return spec;
}

// A plan computes apart what does not fit in one operation: post-operations, masks, residuals (core/plan/plan_split.h).
bool mayBeSplit(const OpSpec& spec, const std::vector<TensorDesc>& src) {
  const auto has = [&](std::size_t operand) { return operand < src.size() && !src[operand].absent(); };
  return (spec.kind != OpKind::kPointwise && !spec.post_ops.empty()) || (spec.kind == OpKind::kSoftmax && has(1)) ||
         (spec.kind == OpKind::kLayerNorm && has(3));
}

// The readers of a value take it in the dtype that it has in the graph. Complex numbers are pairs of FP32.
void requireDtype(DType dtype, const Value* value) {
  const DType wanted = isComplex(value) ? DType::kF32 : dtypeOf(*knownDtype(value));
  if (dtype != wanted)
    decline(reasons::kUnsupportedDtype, "A plan would give a result of another type than the example run.");
}

void requireResult(const TensorDesc& result, const Value* value) {
  if (result.dims.toVector() != exampleDesc(value).dims.toVector())
    decline(reasons::kShapeMismatch, "A plan would give a result of other sizes than the example run.");
  requireDtype(result.dtype, value);
}

}  // namespace

TensorDesc exampleDesc(const Value* tensor) {
  std::vector<std::int64_t> sizes = *knownSizes(tensor);
  if (!isComplex(tensor)) return contiguousDesc(dtypeOf(*knownDtype(tensor)), Dims(sizes));
  sizes.push_back(2);
  return contiguousDesc(DType::kF32, Dims(sizes));
}

void requireSizes(const LoweredNode& lowered) {
  std::vector<std::vector<TensorDesc>> results;
  for (const LoweredOp& op : lowered.ops) {
    const auto spec = resolved(op);
    if (!spec) return;
    std::vector<TensorDesc> src, dst;
    for (const LoweredOperand& operand : op.src) {
      if (operand.absent()) {
        src.emplace_back();
      } else if (operand.local >= 0) {
        src.push_back(results.at(static_cast<std::size_t>(operand.local)).at(static_cast<std::size_t>(operand.result)));
      } else {
        src.push_back(operand.constant.defined() ? descOf(operand.constant) : exampleDesc(operand.value));
      }
    }
    const Verdict fits = inferShapes(*spec, src, &dst);
    if (!fits.ok && mayBeSplit(*spec, src)) return;
    if (!fits.ok) decline(reasons::kShapeMismatch, "A plan cannot take these sizes: " + fits.reason + ".");
    for (std::size_t result = 0; result < op.dst.size() && result < dst.size(); ++result)
      requireResult(dst[result], op.dst[result]);
    results.push_back(std::move(dst));
  }
}

}  // namespace ipex_studio::lowering
