#include "kernels/training/convolution_training_ref.h"

namespace ipex_studio {
namespace {

// Calls fn(x, w) with the places of all that output `o` of a row of the result multiplies.
template <typename Fn>
void forEachProduct(const ConvolutionProblem& p, std::int64_t row, std::int64_t o, const Fn& fn) {
  const std::int64_t plane = row / (p.out(0) * p.out(1)), pixel = row % (p.out(0) * p.out(1));
  const std::int64_t image = plane / p.depth.out(), plane_taps = p.kernel[0] * p.kernel[1];
  const std::int64_t channels = p.groupChannels(), first = o / (p.outputs / p.groups) * channels;
  for (std::int64_t tap = 0; tap < p.taps(); ++tap) {
    const std::int64_t in_plane = tap % plane_taps;
    const std::int64_t z =
        plane % p.depth.out() * p.depth.stride - p.depth.padding + tap / plane_taps * p.depth.dilation;
    const std::int64_t y = pixel / p.out(1) * p.stride[0] - p.padding[0] + in_plane / p.kernel[1] * p.dilation[0];
    const std::int64_t x = pixel % p.out(1) * p.stride[1] - p.padding[1] + in_plane % p.kernel[1] * p.dilation[1];
    if (z < 0 || z >= p.depth.size || y < 0 || y >= p.size[0] || x < 0 || x >= p.size[1]) continue;
    const std::int64_t place = (((image * p.depth.size + z) * p.size[0] + y) * p.size[1] + x) * p.channels + first;
    for (std::int64_t c = 0; c < channels; ++c) fn(place + c, (o * p.taps() + tap) * channels + c);
  }
}

}  // namespace

ConvolutionRef convolutionTrainingRef(const ConvolutionProblem& p, const std::vector<float>& x,
                                      const std::vector<float>& w, const std::vector<float>& bias,
                                      const std::vector<float>& dy) {
  ConvolutionRef ref{std::vector<double>(dy.size()), std::vector<double>(x.size()), std::vector<double>(w.size()),
                     std::vector<double>(static_cast<std::size_t>(p.outputs))};
  for (std::int64_t row = 0; row < p.rows(); ++row) {
    for (std::int64_t o = 0; o < p.outputs; ++o) {
      const auto place = static_cast<std::size_t>(row * p.outputs + o);
      const double gradient = dy[place];
      ref.y[place] = bias.empty() ? 0.0 : bias[static_cast<std::size_t>(o)];
      ref.db[static_cast<std::size_t>(o)] += gradient;
      forEachProduct(p, row, o, [&](std::int64_t from, std::int64_t weight) {
        const auto i = static_cast<std::size_t>(from), j = static_cast<std::size_t>(weight);
        ref.y[place] += static_cast<double>(x[i]) * w[j];
        ref.dx[i] += gradient * w[j];
        ref.dw[j] += gradient * x[i];
      });
    }
  }
  return ref;
}

}  // namespace ipex_studio
