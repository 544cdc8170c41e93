// Max pools of planes with the places of their maxima, as max_unpool reads them: of equal values the first one in its
// plane, and NaN before all numbers, of several the last. Each lane of a vector has a window of its own; windows that
// reach into the padding are visited one by one.
//
// Declines: post-ops, dtype, empty, size (a plane of 2^31 elements), rank (volumes).
#define HWY_TARGET_INCLUDE "kernels/reduce/pool_places_simd.cpp"
#include "kernels/common/simd-inl.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/reduce/pool_places_job.h"

HWY_BEFORE_NAMESPACE();
namespace ipex_studio::HWY_NAMESPACE {

inline void poolOnePlace(const PoolPlacesJob& job, const float* plane, std::int64_t row, std::int64_t column,
                         float* value, std::int64_t* place) {
  const auto first = [](const PoolPlacesAxis& axis, std::int64_t at) {
    const std::int64_t before = axis.padding - at * axis.stride;
    return before > 0 ? (before + axis.dilation - 1) / axis.dilation : 0;
  };
  const auto source = [](const PoolPlacesAxis& axis, std::int64_t at, std::int64_t k) {
    return at * axis.stride - axis.padding + k * axis.dilation;
  };
  const std::int64_t ky0 = first(job.y, row), kx0 = first(job.x, column);
  float best = -std::numeric_limits<float>::infinity();
  std::int64_t found = source(job.y, row, ky0) * job.x.size + source(job.x, column, kx0);
  for (std::int64_t ky = ky0; ky < job.y.kernel && source(job.y, row, ky) < job.y.size; ++ky) {
    for (std::int64_t kx = kx0; kx < job.x.kernel && source(job.x, column, kx) < job.x.size; ++kx) {
      const std::int64_t at = source(job.y, row, ky) * job.x.size + source(job.x, column, kx);
      if (!(plane[at] > best || std::isnan(plane[at]))) continue;
      best = plane[at];
      found = at;
    }
  }
  *value = best;
  *place = found;
}

// Results [begin, end) of a row whose windows lie inside of the plane.
inline std::int64_t poolInnerPlaces(const PoolPlacesJob& job, const float* plane, std::int64_t row, std::int64_t begin,
                                    std::int64_t end, float* values, std::int64_t* places) {
  const F32 d;
  const hn::RebindToSigned<F32> di;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto steps = hn::Mul(hn::Iota(di, 0), hn::Set(di, static_cast<std::int32_t>(job.x.stride)));
  const std::int64_t top = row * job.y.stride - job.y.padding;
  HWY_ALIGN std::int32_t found[hn::MaxLanes(F32())];
  std::int64_t column = begin;
  for (; column + lanes <= end; column += lanes) {
    const std::int64_t corner = top * job.x.size + column * job.x.stride - job.x.padding;
    const auto base = hn::Add(hn::Set(di, static_cast<std::int32_t>(corner)), steps);
    VF best = hn::Set(d, -std::numeric_limits<float>::infinity());
    auto best_place = base;
    for (std::int64_t ky = 0; ky < job.y.kernel; ++ky) {
      for (std::int64_t kx = 0; kx < job.x.kernel; ++kx) {
        const auto place = hn::Add(
            base, hn::Set(di, static_cast<std::int32_t>(ky * job.y.dilation * job.x.size + kx * job.x.dilation)));
        const VF value = hn::GatherIndex(d, plane, place);
        const auto better = hn::Or(hn::Gt(value, best), hn::IsNaN(value));
        best = hn::IfThenElse(better, value, best);
        best_place = hn::IfThenElse(hn::RebindMask(di, better), place, best_place);
      }
    }
    hn::StoreU(best, d, values + column);
    hn::Store(best_place, di, found);
    for (std::int64_t lane = 0; lane < lanes; ++lane) places[column + lane] = found[lane];
  }
  return column;
}

// Rows [begin, end) of all planes.
void runPoolPlaces(const PoolPlacesJob& job, const float* x, float* values, std::int64_t* places, std::int64_t begin,
                   std::int64_t end) {
  for (std::int64_t line = begin; line < end; ++line) {
    const std::int64_t row = line % job.y.results;
    const float* plane = x + line / job.y.results * job.y.size * job.x.size;
    float* to = values + line * job.x.results;
    std::int64_t* found = places + line * job.x.results;
    std::int64_t column = 0;
    if (row >= job.y.inner_begin && row < job.y.inner_end) {
      for (; column < job.x.inner_begin; ++column) poolOnePlace(job, plane, row, column, to + column, found + column);
      column = poolInnerPlaces(job, plane, row, column, job.x.inner_end, to, found);
    }
    for (; column < job.x.results; ++column) poolOnePlace(job, plane, row, column, to + column, found + column);
  }
}

}  // namespace ipex_studio::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "core/op/kernel.h"
#include "kernels/common/parallel.h"

namespace ipex_studio {
namespace {

HWY_EXPORT(runPoolPlaces);

class PoolPlacesOp final : public PreparedOp {
 public:
  PoolPlacesJob job;
  void (*run)(const PoolPlacesJob&, const float*, float*, std::int64_t*, std::int64_t, std::int64_t) = nullptr;
  std::int64_t grain = 1;
  std::int32_t threads = 1;

  void execute(ExecState*, const void* const* from, void* const* to, void*) const override {
    parallelFor(job.planes * job.y.results, grain, threads, [&](std::int64_t begin, std::int64_t end, int) {
      run(job, static_cast<const float*>(from[0]), static_cast<float*>(to[0]), static_cast<std::int64_t*>(to[1]), begin,
          end);
    });
  }
};

PoolPlacesAxis placesAxis(const OpSpec& spec, std::size_t axis, std::int64_t size, std::int64_t results) {
  const auto entry = [&](const char* name, std::int64_t otherwise) {
    return spec.has(name) ? spec.ints(name).at(axis) : otherwise;
  };
  PoolPlacesAxis made{
      size, results, spec.ints("kernel").at(axis), entry("stride", 1), entry("padding", 0), entry("dilation", 1), 0, 0};
  made.inner_begin = std::min(results, (made.padding + made.stride - 1) / made.stride);
  const std::int64_t last = size + made.padding - (made.kernel - 1) * made.dilation - 1;
  made.inner_end = last < 0 ? made.inner_begin : std::max(made.inner_begin, std::min(results, last / made.stride + 1));
  return made;
}

class PoolPlacesSimd final : public Kernel {
 public:
  const char* name() const override { return "pool_places_simd"; }

  Verdict supports(const PrepareArgs& args) const override {
    const Dims& x = args.src[0].dims;
    if (!args.spec.post_ops.empty()) return Verdict::no("post-ops");
    if (args.src[0].dtype != DType::kF32) return Verdict::no("dtype");
    if (x.rank > 4) return Verdict::no("rank");
    if (args.dst[0].dims.count() == 0) return Verdict::no("empty");
    const std::int64_t plane = x.count() / std::max<std::int64_t>(1, x[0] * x[1]);
    return plane <= std::numeric_limits<std::int32_t>::max() ? Verdict::yes() : Verdict::no("size");
  }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string*) const override {
    const Dims &x = args.src[0].dims, &y = args.dst[0].dims;
    auto op = std::make_unique<PoolPlacesOp>();
    op->src = {contiguousDesc(DType::kF32, x)};
    op->dst = {contiguousDesc(DType::kF32, y), contiguousDesc(DType::kS64, y)};
    op->packed = {false};
    op->job.planes = x[0] * x[1];
    const bool flat = x.rank == 3;
    if (!flat) op->job.y = placesAxis(args.spec, 0, x[2], y[2]);
    if (flat) op->job.y.inner_end = 1;
    op->job.x = placesAxis(args.spec, flat ? 0 : 1, x[x.rank - 1], y[x.rank - 1]);
    const std::int64_t window = op->job.y.kernel * op->job.x.kernel;
    op->flops = y.count() * window;
    op->grain = grainFor(y[x.rank - 1] * (window + 2));
    op->threads = args.target.threads;
    op->run = IPEX_SELECT_TARGET(runPoolPlaces, args.target.isa);
    return op;
  }
};

}  // namespace

std::unique_ptr<Kernel> makePoolPlacesSimd() { return std::make_unique<PoolPlacesSimd>(); }

}  // namespace ipex_studio

#endif  // HWY_ONCE
