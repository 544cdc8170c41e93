// A 1x1 convolution, its activation, then a depthwise convolution, as their definitions say.
#include "kernels/common/reference.h"

namespace ipex_studio {

void refPointwiseDepthwise(const RefCall& call) {
  const RefTensor &x = call.src[0], &w = call.src[1];
  const std::int64_t channels = w.dims[0];
  RefTensor expanded{x.dims, nullptr};
  expanded.dims[1] = channels;
  std::vector<double> values(static_cast<std::size_t>(expanded.dims.count()));
  expanded.data = values.data();
  OpSpec first;
  first.kind = OpKind::kConvolution;
  std::vector<RefTensor> to{expanded};
  refConvolution({first, {x, w, call.src[2]}, to});
  PostOp activation;
  const bool has_activation = namedPostOp(call.spec, "activation", &activation);
  for (double& value : values) {
    if (has_activation) value = refPostOp(activation, value, 0);
  }
  OpSpec second = call.spec;
  second.kind = OpKind::kConvolution;
  second.attributes["groups"] = channels;
  refConvolution({second, {expanded, call.src[3], call.src[4]}, call.dst});
}

}  // namespace ipex_studio
