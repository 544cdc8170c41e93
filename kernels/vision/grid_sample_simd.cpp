// Images sampled at given places (Jaderberg et al., Spatial Transformer Networks, arXiv:1506.02025; the conventions of
// torch.nn.functional.grid_sample). Neighbouring places are the lanes of vectors: the places and weights of their
// pixels are computed once for all channels. Coordinates are computed in the order in which libtorch computes them, so
// that the nearest pixel is the same.
//
// Declines: post-ops, empty, size (more than 2^31 pixels in a channel).
#define HWY_TARGET_INCLUDE "kernels/vision/grid_sample_simd.cpp"
#include "kernels/common/simd-inl.h"

#include <algorithm>

#include "kernels/vision/grid_sample_job.h"

HWY_BEFORE_NAMESPACE();
namespace ipex_studio::HWY_NAMESPACE {

using S32 = hn::RebindToSigned<F32>;
using VI = hn::Vec<S32>;
using MF = hn::Mask<F32>;

// Converts coordinates from [-1, 1] to pixels; with padding=border they are clamped into the image, NaN, too.
HWY_INLINE VF pixelsAt(const GridSampleJob& job, VF at, std::int64_t size) {
  const F32 d;
  const float last = static_cast<float>(size - 1), scale = job.align_corners ? last / 2 : static_cast<float>(size) / 2;
  const VF scaled = hn::Mul(hn::Add(at, hn::Set(d, 1.0f)), hn::Set(d, scale));
  const VF pixel = job.align_corners ? scaled : hn::Sub(scaled, hn::Set(d, 0.5f));
  if (!job.border) return pixel;
  return hn::Min(hn::IfThenElseZero(hn::Gt(pixel, hn::Zero(d)), pixel), hn::Set(d, last));
}

// One pixel for each lane: its place in a channel, and whether it lies in the image.
struct Corner {
  VI place;
  MF inside;
  VF weight;
};

HWY_INLINE Corner cornerAt(const GridSampleJob& job, VF row, VF column, VF weight) {
  const F32 d;
  const S32 di;
  const VF zero = hn::Zero(d);
  const MF rows = hn::And(hn::Ge(row, zero), hn::Lt(row, hn::Set(d, static_cast<float>(job.height))));
  const MF columns = hn::And(hn::Ge(column, zero), hn::Lt(column, hn::Set(d, static_cast<float>(job.width))));
  const MF inside = hn::And(rows, columns);
  const VI i = hn::ConvertTo(di, hn::IfThenElseZero(inside, row)),
           j = hn::ConvertTo(di, hn::IfThenElseZero(inside, column));
  return {hn::Add(hn::Mul(i, hn::Set(di, static_cast<std::int32_t>(job.width))), j), inside, weight};
}

// Computes places [at, at + lanes) of all channels; only `count` of them if fewer are left.
template <int kCorners>
HWY_INLINE void sampled(const GridSampleJob& job, const Corner (&corners)[kCorners], const float* x, float* y,
                        std::int64_t count) {
  const F32 d;
  const std::int64_t pixels = job.height * job.width;
  HWY_ALIGN float some[hn::MaxLanes(d)];
  for (std::int64_t c = 0; c < job.channels; ++c, x += pixels, y += job.places) {
    VF sum = hn::Zero(d);
    for (const Corner& corner : corners) {
      const VF value = hn::IfThenElseZero(corner.inside, hn::GatherIndex(d, x, corner.place));
      sum = kCorners == 1 ? value : hn::MulAdd(corner.weight, value, sum);
    }
    if (count == static_cast<std::int64_t>(hn::Lanes(d))) {
      hn::StoreU(sum, d, y);
    } else {
      hn::Store(sum, d, some);
      std::copy(some, some + count, y);
    }
  }
}

void runGridSample(const GridSampleJob& job, const float* images, const float* grids, float* results,
                   std::int64_t begin, std::int64_t end) {
  const F32 d;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  HWY_ALIGN float xs[hn::MaxLanes(d)] = {}, ys[hn::MaxLanes(d)] = {};
  for (std::int64_t item = begin; item < end; ++item) {
    const std::int64_t image = item / job.pieces, first = item % job.pieces * job.piece,
                       last = std::min(job.places, first + job.piece);
    const float* const x = images + image * job.channels * job.height * job.width;
    const float* const grid = grids + image * job.places * 2;
    float* const y = results + image * job.channels * job.places;
    for (std::int64_t at = first; at < last; at += lanes) {
      const std::int64_t count = std::min(lanes, last - at);
      for (std::int64_t l = 0; l < count; ++l) {
        xs[l] = grid[2 * (at + l)];
        ys[l] = grid[2 * (at + l) + 1];
      }
      const VF column = pixelsAt(job, hn::Load(d, xs), job.width), row = pixelsAt(job, hn::Load(d, ys), job.height);
      const VF one = hn::Set(d, 1.0f);
      if (job.nearest) {
        const Corner corners[1] = {cornerAt(job, hn::Round(row), hn::Round(column), one)};
        sampled(job, corners, x, y + at, count);
        continue;
      }
      const VF top = hn::Floor(row), left = hn::Floor(column), bottom = hn::Add(top, one), right = hn::Add(left, one);
      const VF down = hn::Sub(row, top), across = hn::Sub(column, left), up = hn::Sub(one, down),
               back = hn::Sub(one, across);
      const Corner corners[4] = {
          cornerAt(job, top, left, hn::Mul(up, back)), cornerAt(job, top, right, hn::Mul(up, across)),
          cornerAt(job, bottom, left, hn::Mul(down, back)), cornerAt(job, bottom, right, hn::Mul(down, across))};
      sampled(job, corners, x, y + at, count);
    }
  }
}

}  // namespace ipex_studio::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <limits>

#include "core/op/kernel.h"
#include "kernels/common/parallel.h"

namespace ipex_studio {
namespace {

HWY_EXPORT(runGridSample);

using GridSampleRun = void (*)(const GridSampleJob&, const float*, const float*, float*, std::int64_t, std::int64_t);

class GridSampleOp final : public PreparedOp {
 public:
  GridSampleJob job;
  GridSampleRun run = nullptr;
  std::int64_t items = 0, grain = 1;
  std::int32_t threads = 1;

  void execute(ExecState*, const void* const* from, void* const* to, void*) const override {
    parallelFor(items, grain, threads, [&](std::int64_t begin, std::int64_t end, int) {
      run(job, static_cast<const float*>(from[0]), static_cast<const float*>(from[1]), static_cast<float*>(to[0]),
          begin, end);
    });
  }
};

class GridSampleSimd final : public Kernel {
 public:
  const char* name() const override { return "grid_sample_simd"; }

  Verdict supports(const PrepareArgs& args) const override {
    if (!args.spec.post_ops.empty()) return Verdict::no("post-ops");
    if (args.dst[0].dims.count() == 0) return Verdict::no("empty");
    const Dims& x = args.src[0].dims;
    return x[2] * x[3] <= std::numeric_limits<std::int32_t>::max() ? Verdict::yes() : Verdict::no("size");
  }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string*) const override {
    const Dims &x = args.src[0].dims, &y = args.dst[0].dims;
    auto op = std::make_unique<GridSampleOp>();
    for (const TensorDesc& src : args.src) op->src.push_back(contiguousDesc(DType::kF32, src.dims));
    op->dst = {contiguousDesc(DType::kF32, y)};
    op->packed = {false, false};
    GridSampleJob& job = op->job;
    job.nearest = args.spec.stringOr("mode", "bilinear") == "nearest";
    job.border = args.spec.stringOr("padding", "zeros") == "border";
    job.align_corners = args.spec.intOr("align_corners", 0) != 0;
    job.channels = x[1];
    job.height = x[2];
    job.width = x[3];
    job.places = y[2] * y[3];
    job.piece = 256;
    job.pieces = (job.places + job.piece - 1) / job.piece;
    op->items = x[0] * job.pieces;
    op->grain = grainFor(job.piece * (4 + 4 * job.channels));
    op->run = IPEX_SELECT_TARGET(runGridSample, args.target.isa);
    op->threads = args.target.threads;
    return op;
  }
};

}  // namespace

std::unique_ptr<Kernel> makeGridSampleSimd() { return std::make_unique<GridSampleSimd>(); }

}  // namespace ipex_studio

#endif  // HWY_ONCE
