// Bins of whole pixels of a region of interest.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "kernels/vision/roi_align.h"

namespace ipex_studio {

// The pixels of an image that lie in a bin: [begin, end) along an axis.
struct PixelRange {
  std::int64_t begin = 0, end = 0;
};

// A region of interest along an axis, rounded to pixels.
template <typename T>
struct RoiPixels {
  std::int64_t start = 0;
  T bin = 1;

  // `last`: the last pixel belongs to the region.
  static RoiPixels read(const RoiAlignJob& job, T begin, T end, std::int64_t bins, bool last) {
    const T scale = static_cast<T>(job.spatial_scale);
    RoiPixels pixels;
    pixels.start = toPixel(begin * scale);
    const std::int64_t extent = std::max<std::int64_t>(1, toPixel(end * scale) - pixels.start + (last ? 1 : 0));
    pixels.bin = static_cast<T>(extent) / static_cast<T>(bins);
    return pixels;
  }

  // Bin number `place`, cut at `size`.
  PixelRange range(std::int64_t place, std::int64_t size) const {
    const auto begin = static_cast<std::int64_t>(std::floor(static_cast<T>(place) * bin)),
               end = static_cast<std::int64_t>(std::ceil(static_cast<T>(place + 1) * bin));
    return {std::clamp<std::int64_t>(begin + start, 0, size), std::clamp<std::int64_t>(end + start, 0, size)};
  }

 private:
  // Places far outside of all images, and those that are no numbers, are as good as any.
  static std::int64_t toPixel(T place) {
    constexpr T kFar = T(1 << 24);
    return std::isnan(place) ? 0 : static_cast<std::int64_t>(std::round(std::clamp(place, -kFar, kFar)));
  }
};

}  // namespace ipex_studio
