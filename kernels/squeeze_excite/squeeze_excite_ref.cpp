// x · gate(expand · activation(reduce · mean(x) + bias) + bias) as its definition says (Hu et al.,
// Squeeze-and-Excitation Networks, arXiv:1709.01507).
#include "kernels/common/reference.h"

namespace ipex_studio {

void refSqueezeExcite(const RefCall& call) {
  const RefTensor &x = call.src[0], &reduce = call.src[1], &reduce_bias = call.src[2], &expand = call.src[3],
                  &expand_bias = call.src[4];
  const std::int64_t images = x.dims[0], channels = x.dims[1], hidden = reduce.dims[0];
  const std::int64_t pixels = x.dims.count() / (images * channels);
  PostOp activation, gate;
  namedPostOp(call.spec, "activation", &activation);
  namedPostOp(call.spec, "gate", &gate);
  std::vector<double> mean(static_cast<std::size_t>(channels)), inner(static_cast<std::size_t>(hidden));
  for (std::int64_t n = 0; n < images; ++n) {
    const double* const image = x.data + n * channels * pixels;
    double* const result = call.dst[0].data + n * channels * pixels;
    for (std::int64_t c = 0; c < channels; ++c) {
      double sum = 0;
      for (std::int64_t p = 0; p < pixels; ++p) sum += image[c * pixels + p];
      mean[static_cast<std::size_t>(c)] = sum / static_cast<double>(pixels);
    }
    for (std::int64_t r = 0; r < hidden; ++r) {
      double sum = reduce_bias.data != nullptr ? reduce_bias.data[r] : 0;
      for (std::int64_t c = 0; c < channels; ++c)
        sum += reduce.data[r * channels + c] * mean[static_cast<std::size_t>(c)];
      inner[static_cast<std::size_t>(r)] = refPostOp(activation, sum, 0);
    }
    for (std::int64_t c = 0; c < channels; ++c) {
      double sum = expand_bias.data != nullptr ? expand_bias.data[c] : 0;
      for (std::int64_t r = 0; r < hidden; ++r) sum += expand.data[c * hidden + r] * inner[static_cast<std::size_t>(r)];
      const double factor = refPostOp(gate, sum, 0);
      for (std::int64_t p = 0; p < pixels; ++p) result[c * pixels + p] = image[c * pixels + p] * factor;
    }
  }
}

}  // namespace ipex_studio
