// The search for the producer of a value's integers.
#include "core/quantization/quantized_value.h"

#include "core/graph/fused_op.h"
#include "core/lower/lowering.h"

namespace ipex_studio {

using torch::jit::Value;

std::optional<AffineParameters> quantizationOf(const Value* value) {
  // Follows operations that move integers through their first operand, since all parts of a concatenation share its
  // scale.
  for (int depth = 0; depth < 1000; ++depth) {
    auto* node = const_cast<torch::jit::Node*>(value->node());
    if (const auto op = readFusedOp(node)) {
      const std::string result = op->spec.stringOr("result", "");
      if ((result != "u8" && result != "s8") || op->spec.post_ops.empty()) return std::nullopt;
      const PostOp& tail = op->spec.post_ops.back();
      if (tail.kind != PostOpKind::kLinear || !(tail.alpha > 0)) return std::nullopt;
      return AffineParameters{1 / tail.alpha, static_cast<std::int64_t>(tail.beta)};
    }
    const auto dtype = knownDtype(value);
    if (dtype != at::kByte && dtype != at::kChar) return std::nullopt;
    const auto lowered = lowerNode(node);
    const auto* ops = std::get_if<LoweredNode>(&lowered);
    if (ops == nullptr || ops->ops.empty() || ops->ops[0].src.empty() || ops->ops[0].src[0].value == nullptr)
      return std::nullopt;
    value = ops->ops[0].src[0].value;
  }
  return std::nullopt;
}

std::optional<AffineParameters> affineOf(Value* value) {
  for (int depth = 0; depth < 1000 && value != nullptr; ++depth) {
    torch::jit::Node* node = value->node();
    if (readFusedOp(node)) return quantizationOf(value);
    value = node->inputs().empty() ? nullptr : node->input(0);
  }
  return std::nullopt;
}

std::optional<at::Tensor> realValue(Value* value, const at::Tensor& now) {
  if (at::isFloatingType(now.scalar_type())) return now.to(at::kFloat);
  const auto affine = affineOf(value);
  if (!affine) return std::nullopt;
  return (now.to(at::kFloat) - static_cast<double>(affine->zero_point)) * affine->scale;
}

}  // namespace ipex_studio
