// The grid of an affine transformation of an image, as torch.nn.functional.affine_grid defines it.
#include "kernels/common/reference.h"

namespace ipex_studio {
namespace {

// The centre of pixel `i` of `size`, from -1 to 1. One pixel stands in the middle, whatever the corners are.
double centreOf(std::int64_t i, std::int64_t size, bool align_corners) {
  if (size == 1) return 0;
  const double at = static_cast<double>(2 * i), pixels = static_cast<double>(size);
  return align_corners ? at / (pixels - 1) - 1 : (at + 1) / pixels - 1;
}

}  // namespace

void refAffineGrid(const RefCall& call) {
  const RefTensor &theta = call.src[0], &grid = call.dst[0];
  const bool align = call.spec.intOr("align_corners", 0) != 0;
  forEachIndex(grid.dims, [&](const Dims& at) {
    const double x = centreOf(at[2], grid.dims[2], align), y = centreOf(at[1], grid.dims[1], align);
    const auto factor = [&](std::int64_t column) { return theta(Dims{at[0], at[3], column}); };
    grid(at) = factor(0) * x + factor(1) * y + factor(2);
  });
}

}  // namespace ipex_studio
