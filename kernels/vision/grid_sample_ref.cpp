// Sampling of an image at given places, as torch.nn.functional.grid_sample says.
#include <algorithm>
#include <cmath>

#include "kernels/common/reference.h"

namespace ipex_studio {
namespace {

// Converts a coordinate to pixels: -1 and 1 are the centres of the outer pixels (align_corners) or their outer edges.
double pixelOf(double at, std::int64_t size, bool align_corners) {
  const double pixels = static_cast<double>(size);
  return align_corners ? (at + 1) / 2 * (pixels - 1) : ((at + 1) * pixels - 1) / 2;
}

}  // namespace

void refGridSample(const RefCall& call) {
  const RefTensor &x = call.src[0], &grid = call.src[1], &y = call.dst[0];
  const bool align = call.spec.intOr("align_corners", 0) != 0,
             border = call.spec.stringOr("padding", "zeros") == "border";
  const bool nearest = call.spec.stringOr("mode", "bilinear") == "nearest";
  const std::int64_t height = x.dims[2], width = x.dims[3];
  forEachIndex(y.dims, [&](const Dims& at) {
    const auto coordinate = [&](std::int64_t which, std::int64_t size) {
      const double pixel = pixelOf(grid(Dims{at[0], at[2], at[3], which}), size, align);
      // NaN becomes 0, too.
      return border ? std::min(pixel > 0 ? pixel : 0.0, static_cast<double>(size - 1)) : pixel;
    };
    const double column = coordinate(0, width), row = coordinate(1, height);
    const auto pixel = [&](double i, double j) {
      const bool is_inside = i >= 0 && i < static_cast<double>(height) && j >= 0 && j < static_cast<double>(width);
      return is_inside ? x(Dims{at[0], at[1], static_cast<std::int64_t>(i), static_cast<std::int64_t>(j)}) : 0;
    };
    if (nearest) {
      y(at) = pixel(std::nearbyint(row), std::nearbyint(column));
      return;
    }
    const double top = std::floor(row), left = std::floor(column), down = row - top, right = column - left;
    y(at) = (1 - down) * ((1 - right) * pixel(top, left) + right * pixel(top, left + 1)) +
            down * ((1 - right) * pixel(top + 1, left) + right * pixel(top + 1, left + 1));
  });
}

}  // namespace ipex_studio
