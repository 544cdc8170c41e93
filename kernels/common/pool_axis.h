// Windows of pooling along one axis.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernels/common/convolution_geometry.h"

namespace ipex_studio {

// The windows of one axis: for each place of the result the source places [first, last) in steps, none where first >=
// last, and its part of an average's divisor.
struct AxisWindows {
  std::vector<std::int64_t> first, last, counted;
  std::int64_t step = 1;

  // An axis with one window over one source place.
  static AxisWindows single() { return {{0}, {1}, {1}, 1}; }
};

// Axis `s` of `spatial` of a pool (core/op/op_spec.h) from `in` places to `out`.
inline AxisWindows poolWindows(const OpSpec& spec, int s, int spatial, std::int64_t in, std::int64_t out) {
  const ConvolutionGeometry g = convolutionGeometry(spec, spatial);
  const std::int64_t kernel = spatialInts(spec, "kernel", spatial, 1)[s];
  const bool count_padding = spec.stringOr("mode", "max") == "avg";
  AxisWindows windows;
  windows.step = g.dilation[s] + 1;
  for (std::int64_t o = 0; o < out; ++o) {
    std::int64_t first = -1, last = 0, inside = 0, in_padded = 0;
    for (std::int64_t k = 0; k < kernel; ++k) {
      const std::int64_t at = o * g.stride[s] - g.padding_begin[s] + k * windows.step;
      in_padded += at < in + g.padding_end[s];
      if (at < 0 || at >= in) continue;
      if (first < 0) first = at;
      last = at + 1;
      ++inside;
    }
    windows.first.push_back(std::max<std::int64_t>(first, 0));
    windows.last.push_back(last);
    windows.counted.push_back(count_padding ? in_padded : inside);
  }
  return windows;
}

}  // namespace ipex_studio
