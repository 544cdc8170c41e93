// Max pooling of images and lines in channels-last or channel-blocked layout, of FP32, u8 and s8: the source lines of a
// window are joined first, all columns at once, then its columns. NaN wins, as in the definition.
//
// Declines: dtype, mode (averages), rank (volumes), post-ops, empty, row-major.
#define HWY_TARGET_INCLUDE "kernels/reduce/pool_max_simd.cpp"
#include "kernels/common/simd-inl.h"

#include <limits>

#include "kernels/reduce/pool_max_job.h"

HWY_BEFORE_NAMESPACE();
namespace ipex_studio::HWY_NAMESPACE {

template <class D, class V>
HWY_INLINE V larger(D, V a, V b) {
  if constexpr (hwy::IsFloat<hn::TFromD<D>>()) {
    return hn::IfThenElse(hn::Or(hn::IsNaN(b), hn::Gt(b, a)), b, a);
  } else {
    return hn::Max(a, b);
  }
}

template <typename T>
T larger(T a, T b) {
  return b != b || b > a ? b : a;
}

// to[i] = the largest of from[i], from[i + step], …, `taps` of them, for i < count; whole vectors may overlap.
template <class D, typename T = hn::TFromD<D>>
HWY_INLINE void joinVectors(D d, const T* from, std::int64_t step, std::int64_t taps, std::int64_t count, T* to) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t done = 0; done < count; done += lanes) {
    const std::int64_t i = std::min(done, count - lanes);
    auto most = hn::LoadU(d, from + i);
    for (std::int64_t t = 1; t < taps; ++t) most = larger(d, most, hn::LoadU(d, from + t * step + i));
    hn::StoreU(most, d, to + i);
  }
}

template <typename T>
void join(const T* from, std::int64_t step, std::int64_t taps, std::int64_t count, T* to) {
  constexpr std::int64_t kShort = 16 / sizeof(T);
  const hn::ScalableTag<T> d;
  if (taps <= 0) {
    std::fill(
        to, to + count,
        std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest());
  } else if (count >= static_cast<std::int64_t>(hn::Lanes(d))) {
    joinVectors(d, from, step, taps, count, to);
  } else if (count >= kShort) {
    joinVectors(hn::CappedTag<T, kShort>(), from, step, taps, count, to);
  } else {
    for (std::int64_t i = 0; i < count; ++i) {
      T most = from[i];
      for (std::int64_t t = 1; t < taps; ++t) most = larger(most, from[t * step + i]);
      to[i] = most;
    }
  }
}

std::int64_t tapsOf(const AxisWindows& windows, std::int64_t at) {
  return (windows.last[at] - windows.first[at] + windows.step - 1) / windows.step;
}

template <typename T>
void poolLines(const PoolMaxJob& job, const T* x, T* y, T* scratch, std::int64_t begin, std::int64_t end) {
  const std::int64_t line = job.lineElements(), inner = job.inner;
  for (std::int64_t item = begin; item < end; ++item) {
    const std::int64_t plane = item / job.out_height, h = item % job.out_height;
    const T* from = x + (plane * job.in_height + job.rows.first[h]) * line;
    const std::int64_t taps = tapsOf(job.rows, h);
    if (taps != 1) {
      join(from, job.rows.step * line, taps, line, scratch);
      from = scratch;
    }
    T* to = y + item * job.out_width * inner;
    for (std::int64_t w = 0; w < job.out_width; ++w, to += inner) {
      join(from + job.columns.first[w] * inner, job.columns.step * inner, tapsOf(job.columns, w), inner, to);
    }
  }
}

// Items are result lines over all planes. scratch: one source line.
void runPoolMax(const PoolMaxJob& job, const void* x, void* y, void* scratch, std::int64_t begin, std::int64_t end) {
  const auto run = [&](auto zero) {
    using T = decltype(zero);
    poolLines(job, static_cast<const T*>(x), static_cast<T*>(y), static_cast<T*>(scratch), begin, end);
  };
  if (job.dtype == DType::kU8) return run(std::uint8_t{});
  if (job.dtype == DType::kS8) return run(std::int8_t{});
  run(0.0f);
}

}  // namespace ipex_studio::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "core/op/kernel.h"
#include "kernels/common/loop_nest.h"
#include "kernels/common/parallel.h"

namespace ipex_studio {
namespace {

HWY_EXPORT(runPoolMax);

using PoolMaxRun = void (*)(const PoolMaxJob&, const void*, void*, void*, std::int64_t, std::int64_t);

class PoolMaxOp final : public PreparedOp {
 public:
  PoolMaxJob job;
  PoolMaxRun run = nullptr;
  std::int64_t items = 0, grain = 1, bytes_per_thread = 0;
  std::int32_t threads = 1;

  void execute(ExecState*, const void* const* from, void* const* to, void* scratch) const override {
    parallelFor(items, grain, threads, [&](std::int64_t begin, std::int64_t end, int thread) {
      run(job, from[0], to[0], static_cast<char*>(scratch) + thread * bytes_per_thread, begin, end);
    });
  }
};

class PoolMaxSimd final : public Kernel {
 public:
  const char* name() const override { return "pool_max_simd"; }

  Verdict supports(const PrepareArgs& args) const override {
    const DType dtype = args.src[0].dtype;
    const bool known = dtype == DType::kF32 || dtype == DType::kU8 || dtype == DType::kS8;
    if (!known || args.dst[0].dtype != dtype) return Verdict::no("dtype");
    if (args.spec.stringOr("mode", "max") != "max") return Verdict::no("mode");
    if (args.src[0].dims.rank > 4) return Verdict::no("rank");
    if (!args.spec.post_ops.empty()) return Verdict::no("post-ops");
    return args.src[0].dims.count() > 0 && args.dst[0].dims.count() > 0 ? Verdict::yes() : Verdict::no("empty");
  }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string* reason) const override {
    const TensorDesc& x = args.src[0];
    if (x.block == 0 && !x.isChannelsLast()) {
      *reason = "row-major";
      return nullptr;
    }
    const Dims& y = args.dst[0].dims;
    const int rank = y.rank, spatial = rank - 2;
    auto op = std::make_unique<PoolMaxOp>();
    op->src = {x};
    op->dst = {laidOutLike(x, x.dtype, y)};
    op->packed = {false};
    PoolMaxJob& job = op->job;
    job.dtype = x.dtype;
    if (spatial == 2) {
      job.in_height = x.dims[2];
      job.out_height = y[2];
      job.rows = poolWindows(args.spec, 0, spatial, x.dims[2], y[2]);
    }
    job.in_width = x.dims[rank - 1];
    job.out_width = y[rank - 1];
    job.columns = poolWindows(args.spec, spatial - 1, spatial, job.in_width, job.out_width);
    job.inner = x.block > 0 ? x.block : x.dims[1];
    op->items = x.dims[0] * ((x.dims[1] + job.inner - 1) / job.inner) * job.out_height;
    const auto element = static_cast<std::int64_t>(elementBytes(x.dtype));
    op->grain = grainFor(job.lineElements() * element);
    op->threads = args.target.threads;
    op->bytes_per_thread = (job.lineElements() * element + 63) / 64 * 64;
    op->scratch_bytes = static_cast<std::size_t>(op->bytes_per_thread * op->threads);
    op->run = IPEX_SELECT_TARGET(runPoolMax, args.target.isa);
    op->flops = y.count();
    for (const auto taps : spatialInts(args.spec, "kernel", spatial, 1)) op->flops *= taps;
    return op;
  }
};

}  // namespace

std::unique_ptr<Kernel> makePoolMaxSimd() { return std::make_unique<PoolMaxSimd>(); }

}  // namespace ipex_studio

#endif  // HWY_ONCE
