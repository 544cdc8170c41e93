// The grid of an affine transformation of an image, a row of the image at a time: along a row both coordinates are a
// constant plus a multiple of x, whose values are the same in all rows and are computed once, when the step is
// prepared.
//
// Declines: post-ops, empty.
#include <vector>

#include "core/op/kernel.h"
#include "kernels/common/parallel.h"

namespace ipex_studio {
namespace {

// The centres of `size` pixels, from -1 to 1, computed in double precision and rounded once.
std::vector<float> centresOf(std::int64_t size, bool align_corners) {
  std::vector<float> centres(static_cast<std::size_t>(size), 0.0f);
  const double pixels = static_cast<double>(size);
  for (std::int64_t i = 0; i < size && size > 1; ++i) {
    const double at = static_cast<double>(2 * i);
    centres[static_cast<std::size_t>(i)] =
        static_cast<float>(align_corners ? at / (pixels - 1) - 1 : (at + 1) / pixels - 1);
  }
  return centres;
}

class AffineGridOp final : public PreparedOp {
 public:
  std::vector<float> xs, ys;
  std::int64_t rows = 0, grain = 1;  // rows of all images
  std::int32_t threads = 1;

  void execute(ExecState*, const void* const* from, void* const* to, void*) const override {
    const auto* theta = static_cast<const float*>(from[0]);
    auto* grid = static_cast<float*>(to[0]);
    const auto height = static_cast<std::int64_t>(ys.size()), width = static_cast<std::int64_t>(xs.size());
    parallelFor(rows, grain, threads, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t row = begin; row < end; ++row) {
        const float* matrix = theta + row / height * 6;
        const float y = ys[static_cast<std::size_t>(row % height)];
        const float base_x = matrix[1] * y + matrix[2], base_y = matrix[4] * y + matrix[5];
        float* place = grid + row * width * 2;
        for (std::int64_t i = 0; i < width; ++i) {
          place[2 * i] = matrix[0] * xs[static_cast<std::size_t>(i)] + base_x;
          place[2 * i + 1] = matrix[3] * xs[static_cast<std::size_t>(i)] + base_y;
        }
      }
    });
  }
};

class AffineGridRows final : public Kernel {
 public:
  const char* name() const override { return "affine_grid_rows"; }

  Verdict supports(const PrepareArgs& args) const override {
    if (!args.spec.post_ops.empty()) return Verdict::no("post-ops");
    return args.dst[0].dims.count() > 0 ? Verdict::yes() : Verdict::no("empty");
  }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string*) const override {
    const Dims& grid = args.dst[0].dims;
    const bool align = args.spec.intOr("align_corners", 0) != 0;
    auto op = std::make_unique<AffineGridOp>();
    op->src = {contiguousDesc(DType::kF32, args.src[0].dims)};
    op->dst = {contiguousDesc(DType::kF32, grid)};
    op->packed = {false};
    op->ys = centresOf(grid[1], align);
    op->xs = centresOf(grid[2], align);
    op->rows = grid[0] * grid[1];
    op->grain = grainFor(4 * grid[2]);
    op->threads = args.target.threads;
    return op;
  }
};

}  // namespace

std::unique_ptr<Kernel> makeAffineGridRows() { return std::make_unique<AffineGridRows>(); }

}  // namespace ipex_studio
