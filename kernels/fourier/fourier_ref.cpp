// Fourier transforms of real frames, by their definition.
#include <cmath>
#include <vector>

#include "kernels/common/reference.h"
#include "kernels/fourier/fourier_scale.h"

namespace ipex_studio {

void refFourier(const RefCall& call) {
  const RefTensor &x = call.src[0], &window = call.src[1], &y = call.dst[0];
  const int axis = x.dims.rank - 1;
  const bool framed = call.spec.has("frame"), magnitude = call.spec.stringOr("result", "pairs") == "magnitude";
  const std::int64_t size = framed ? call.spec.intOr("frame", 0) : x.dims[axis], hop = call.spec.intOr("hop", 1);
  const double scale = fourierScale(call.spec, size);
  std::vector<double> cosine, sine;  // of each part of a turn
  for (std::int64_t i = 0; i < size; ++i) {
    const double angle = -2 * std::acos(-1.0) * static_cast<double>(i) / static_cast<double>(size);
    cosine.push_back(std::cos(angle));
    sine.push_back(std::sin(angle));
  }
  forEachIndex(y.dims, [&](const Dims& at) {
    Dims from;
    from.rank = x.dims.rank;
    for (int i = 0; i < axis; ++i) from[i] = at[i];
    const std::int64_t bin = at[axis], begin = framed ? at[axis + 1] * hop : 0;
    double real = 0, imaginary = 0;
    for (std::int64_t i = 0; i < size; ++i) {
      from[axis] = begin + i;
      const double value = x(from) * (window.data == nullptr ? 1 : window.data[i]) * scale;
      const auto part = static_cast<std::size_t>(bin * i % size);
      real += value * cosine[part];
      imaginary += value * sine[part];
    }
    const bool wants_real = at[y.dims.rank - 1] == 0;
    y(at) = magnitude ? std::hypot(real, imaginary) : wants_real ? real : imaginary;
  });
}

}  // namespace ipex_studio
