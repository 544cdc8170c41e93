#include "passes/quantize/requantization.h"

namespace ipex_studio {

using torch::jit::Node;
using torch::jit::Value;

PostOp toInteger(const AffineParameters& affine) {
  return unaryPostOp(PostOpKind::kLinear, 1 / affine.scale, static_cast<double>(affine.zero_point));
}

PostOp toReal(const AffineParameters& affine) {
  return unaryPostOp(PostOpKind::kLinear, affine.scale, -affine.scale * static_cast<double>(affine.zero_point));
}

void appendPostOp(std::vector<PostOp>* chain, const PostOp& op) {
  if (op.kind == PostOpKind::kLinear && op.alpha == 1 && op.beta == 0) return;
  if (op.kind == PostOpKind::kLinear && !chain->empty() && chain->back().kind == PostOpKind::kLinear) {
    PostOp& last = chain->back();
    last = unaryPostOp(PostOpKind::kLinear, op.alpha * last.alpha, op.alpha * last.beta + op.beta);
    return;
  }
  chain->push_back(op);
}

void appendSumOfIntegers(std::vector<PostOp>* chain, PostOp post_op, const AffineParameters& affine) {
  post_op.alpha *= affine.scale;
  chain->push_back(post_op);
  const double offset = post_op.alpha * static_cast<double>(affine.zero_point);
  appendPostOp(chain, unaryPostOp(PostOpKind::kLinear, 1, post_op.kind == PostOpKind::kSub ? offset : -offset));
}

int integerWeightBits(const OptimizeOptions& options) {
  if (options.weight_bits != 0) return options.weight_bits;
  return options.capabilities.value_or(Capabilities{}).vnni ? 8 : 7;
}

Value* operandValue(Rewriter& rewriter, const LoweredOperand& operand, Node* before) {
  if (operand.constant.defined()) return rewriter.constant(operand.constant, before);
  return operand.value != nullptr ? operand.value : rewriter.none(before);
}

void setDtype(Value* value, at::ScalarType dtype) {
  value->setType(value->type()->expectRef<c10::TensorType>().withScalarType(dtype));
}

Value* writePointwise(Rewriter& rewriter, Value* x, std::vector<PostOp> chain, const std::vector<Value*>& operands,
                      at::ScalarType dtype, Node* before) {
  FusedOp op;
  op.spec.kind = OpKind::kPointwise;
  op.spec.post_ops = std::move(chain);
  if (dtype == at::kByte) op.spec.attributes["result"] = std::string("u8");
  op.base = {x};
  op.post_args = operands;
  Value* result = writeFusedOp(rewriter, op, before)->output();
  result->setType(x->type());
  setDtype(result, dtype);
  return result;
}

void setIntegerWeights(Rewriter& rewriter, const IntegerWeights& weights, double source_scale, FusedOp* op,
                       Node* before) {
  const bool is_linear = op->spec.kind == OpKind::kLinear;
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(is_linear ? 1 : weights.integers.dim() - 1), 1);
  sizes[0] = weights.integers.size(0);
  const at::Tensor factor = (weights.scales.to(at::kDouble) * source_scale).to(at::kFloat).reshape(sizes);
  op->base[1] = rewriter.constant(weights.integers, before);
  op->base[2] = rewriter.none(before);
  op->post_args.push_back(rewriter.constant(factor.contiguous(), before));
  op->spec.post_ops.push_back(binaryPostOp(PostOpKind::kMul, 0));
  if (!weights.bias.defined()) return;
  op->post_args.push_back(rewriter.constant(weights.bias.detach().to(at::kFloat).reshape(sizes).contiguous(), before));
  op->spec.post_ops.push_back(binaryPostOp(PostOpKind::kAdd, 1));
}

}  // namespace ipex_studio
