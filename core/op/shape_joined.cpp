// The shape rule of a fused pointwise and depthwise convolution.
#include "core/op/shape_rules.h"

namespace ipex_studio {

Verdict inferPointwiseDepthwise(const OpSpec& spec, const std::vector<TensorDesc>& src, std::vector<TensorDesc>* dst) {
  const Dims& expand = src[1].dims;
  for (int axis = 2; axis < expand.rank; ++axis) {
    if (expand[axis] != 1) return Verdict::no("the expansion is no 1x1 convolution");
  }
  PostOp activation;
  if (spec.has("activation") && !namedPostOp(spec, "activation", &activation))
    return Verdict::no("the activation is unknown");
  if (src[0].dtype != DType::kF32 || src[1].dtype != DType::kF32 || src[3].dtype != DType::kF32)
    return Verdict::no("two convolutions as one are for FP32");
  OpSpec first, second = spec;
  first.kind = second.kind = OpKind::kConvolution;
  std::vector<TensorDesc> expanded;
  const Verdict fits = inferConvolution(first, {src[0], src[1], src[2]}, &expanded);
  if (!fits.ok) return fits;
  second.attributes["groups"] = expand[0];
  return inferConvolution(second, {expanded[0], src[3], src[4]}, dst);
}

}  // namespace ipex_studio
