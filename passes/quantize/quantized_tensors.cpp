#include "passes/quantize/quantized_tensors.h"

namespace ipex_studio {

using torch::jit::Node;
using torch::jit::Value;

namespace {

Value* dequantized(Rewriter& rewriter, Value* quantized, const c10::TypePtr& type, Node* before) {
  Value* real = rewriter.create("aten::dequantize", {quantized}, before)->output();
  real->setType(type);
  return real;
}

Value* quantized(Rewriter& rewriter, const char* kind, const std::vector<Value*>& inputs, Node* before) {
  Value* made = rewriter.create(kind, inputs, before)->output();
  made->setType(inputs[0]->type());
  setDtype(made, at::kQUInt8);
  return made;
}

}  // namespace

Value* writeRounded(Rewriter& rewriter, Value* x, const AffineParameters& affine, Node* before) {
  Value* made = quantized(rewriter, "aten::quantize_per_tensor",
                          {x, rewriter.constant(affine.scale, before), rewriter.constant(affine.zero_point, before),
                           rewriter.constant(static_cast<std::int64_t>(at::kQUInt8), before)},
                          before);
  return dequantized(rewriter, made, x->type(), before);
}

Value* writeRoundedByItself(Rewriter& rewriter, Value* x, Node* before) {
  Value* made = quantized(
      rewriter, "aten::quantize_per_tensor_dynamic",
      {x, rewriter.constant(static_cast<std::int64_t>(at::kQUInt8), before), rewriter.constant(false, before)}, before);
  return dequantized(rewriter, made, x->type(), before);
}

void readQuantized(Rewriter& rewriter, Node* product, Value* x, const IntegerWeights& weights) {
  const at::Tensor scales = weights.scales.to(at::kDouble), zeros = at::zeros_like(scales, at::kLong);
  const at::Tensor constant = at::_make_per_channel_quantized_tensor(weights.integers.contiguous(), scales, zeros, 0);
  Value* real = dequantized(rewriter, rewriter.constant(constant, product), product->input(1)->type(), product);
  rewriter.replaceInput(product, 0, x);
  rewriter.replaceInput(product, 1, real);
  if (weights.bias.defined())
    rewriter.replaceInput(product, 2, rewriter.constant(weights.bias.to(at::kFloat).contiguous(), product));
}

}  // namespace ipex_studio
