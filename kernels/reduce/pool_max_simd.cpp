// Max pooling of lines, images and volumes of FP32, BF16, u8 and s8: the source lines of a window are joined first, all
// columns at once, then its columns. NaN wins, as in the definition; BF16 is compared as FP32.
//
// Declines: dtype, mode (averages), post-ops, empty, row-major (u8 and s8, whose maxima need no care for NaN).
#define HWY_TARGET_INCLUDE "kernels/reduce/pool_max_simd.cpp"
#include "kernels/common/simd-inl.h"

#include <algorithm>
#include <limits>
#include <type_traits>

#include "kernels/common/bf16-inl.h"
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

// The type that numbers are compared as; 16 bits are BF16.
template <typename T>
using Compared = std::conditional_t<std::is_same_v<T, std::uint16_t>, float, T>;

template <class D, typename T>
HWY_INLINE hn::Vec<D> loadCompared(D d, const T* from) {
  if constexpr (std::is_same_v<T, std::uint16_t>) {
    return loadFloats(d, from);
  } else {
    return hn::LoadU(d, from);
  }
}

template <class D, typename T>
HWY_INLINE void storeCompared(D d, hn::Vec<D> value, T* to) {
  if constexpr (std::is_same_v<T, std::uint16_t>) {
    storeBf16(d, value, to);
  } else {
    hn::StoreU(value, d, to);
  }
}

template <typename T>
Compared<T> asCompared(T value) {
  if constexpr (std::is_same_v<T, std::uint16_t>) {
    return bf16ToFloat(value);
  } else {
    return value;
  }
}

template <typename T>
void storeOne(Compared<T> value, T* to) {
  if constexpr (std::is_same_v<T, std::uint16_t>) {
    *to = floatToBf16(value);
  } else {
    *to = value;
  }
}

// Source numbers of one result each: from[i], from[i + step], …, `taps` of them.
struct Taps {
  std::int64_t step, taps;
  bool more = false;  // true if what stands in the result is one of them
};

// The largest of numbers, a vector at a time. Of floats, Max alone drops what is NaN in the first of two.
template <class D, bool kFloat = hwy::IsFloat<hn::TFromD<D>>()>
struct Largest {
  hn::Vec<D> most;
  explicit HWY_INLINE Largest(D, hn::Vec<D> first) : most(first) {}
  HWY_INLINE void take(D, hn::Vec<D> value) { most = hn::Max(most, value); }
  HWY_INLINE bool isExact(D) const { return true; }
};
template <class D>
struct Largest<D, true> {
  hn::Vec<D> most;
  hn::Mask<D> nan;
  explicit HWY_INLINE Largest(D, hn::Vec<D> first) : most(first), nan(hn::IsNaN(first)) {}
  HWY_INLINE void take(D, hn::Vec<D> value) {
    most = hn::Max(most, value);
    nan = hn::Or(nan, hn::IsNaN(value));
  }
  HWY_INLINE bool isExact(D d) const { return hn::AllFalse(d, nan); }
};

// to[i] = the largest of the taps of i, for i < count; whole vectors may overlap.
template <class D, typename From, typename To>
HWY_INLINE void joinVectors(D d, const From* from, const Taps& window, std::int64_t count, To* to) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t done = 0; done < count; done += lanes) {
    const std::int64_t i = std::min(done, count - lanes);
    Largest<D> largest(d, loadCompared(d, from + i));
    for (std::int64_t t = 1; t < window.taps; ++t) largest.take(d, loadCompared(d, from + t * window.step + i));
    if (window.more) largest.take(d, loadCompared(d, to + i));
    auto most = largest.most;
    if (HWY_UNLIKELY(!largest.isExact(d))) {
      most = loadCompared(d, from + i);
      for (std::int64_t t = 1; t < window.taps; ++t)
        most = larger(d, most, loadCompared(d, from + t * window.step + i));
      if (window.more) most = larger(d, loadCompared(d, to + i), most);
    }
    storeCompared(d, most, to + i);
  }
}

template <typename From, typename To>
void join(const From* from, const Taps& window, std::int64_t count, To* to) {
  using T = Compared<From>;
  constexpr std::int64_t kShort = 16 / sizeof(T);
  const hn::ScalableTag<T> d;
  if (window.taps <= 0) {
    constexpr T lowest = static_cast<T>(std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity()
                                                                             : std::numeric_limits<T>::lowest());
    for (std::int64_t i = 0; i < count; ++i) storeOne(lowest, to + i);
  } else if (count >= static_cast<std::int64_t>(hn::Lanes(d))) {
    joinVectors(d, from, window, count, to);
  } else if (count >= kShort) {
    joinVectors(hn::CappedTag<T, kShort>(), from, window, count, to);
  } else {
    for (std::int64_t i = 0; i < count; ++i) {
      T most = asCompared(from[i]);
      for (std::int64_t t = 1; t < window.taps; ++t) most = larger(most, asCompared(from[t * window.step + i]));
      storeOne(window.more ? larger(static_cast<T>(asCompared(to[i])), most) : most, to + i);
    }
  }
}

std::int64_t tapsOf(const AxisWindows& windows, std::int64_t at) {
  const std::int64_t length = windows.last[at] - windows.first[at];
  return windows.step == 1 ? length : (length + windows.step - 1) / windows.step;
}

// The columns of a line whose rows are joined. In row-major lines windows of all places are joined at once, in
// `scratch`, and those of the results read from there; windows cut short at the ends are joined one by one.
template <typename From, typename To>
void joinColumns(const PoolMaxJob& job, const From* from, Compared<From>* scratch, To* to) {
  const std::int64_t inner = job.inner, step = job.columns.step;
  const bool all = inner == 1 && job.column_taps > 1;
  if (all) join(from, {step, job.column_taps}, job.in_width - (job.column_taps - 1) * step, scratch);
  for (std::int64_t w = 0; w < job.out_width; ++w, to += inner) {
    const std::int64_t first = job.columns.first[w], taps = tapsOf(job.columns, w);
    if (all && taps == job.column_taps) {
      storeOne(scratch[first], to);
    } else {
      join(from + first * inner, {step * inner, taps}, inner, to);
    }
  }
}

// The windows of a line one by one: rows and columns of a window in one go, vectors of channels at a time.
template <typename T>
void joinWindows(const PoolMaxJob& job, const T* from, std::int64_t rows, T* to) {
  const hn::ScalableTag<Compared<T>> d;
  using D = decltype(d);
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const std::int64_t row_step = job.rows.step * job.lineElements(), column_step = job.columns.step * job.inner;
  for (std::int64_t w = 0; w < job.out_width; ++w, to += job.inner) {
    const std::int64_t columns = tapsOf(job.columns, w);
    const T* const window = from + job.columns.first[w] * job.inner;
    for (std::int64_t done = 0; done < job.inner; done += lanes) {
      const std::int64_t i = std::min(done, job.inner - lanes);
      Largest<std::remove_const_t<D>> largest(d, loadCompared(d, window + i));
      for (std::int64_t row = 0; row < rows; ++row) {
        const T* const at = window + row * row_step + i;
        for (std::int64_t column = 0; column < columns; ++column)
          largest.take(d, loadCompared(d, at + column * column_step));
      }
      auto most = largest.most;
      if (HWY_UNLIKELY(!largest.isExact(d))) {
        most = loadCompared(d, window + i);
        for (std::int64_t tap = 1; tap < rows * columns; ++tap)
          most = larger(d, most, loadCompared(d, window + tap / columns * row_step + tap % columns * column_step + i));
      }
      storeCompared(d, most, to + i);
    }
  }
}

template <typename T>
void poolLines(const PoolMaxJob& job, const T* x, T* y, Compared<T>* scratch, std::int64_t begin, std::int64_t end) {
  const std::int64_t line = job.lineElements(), slice = job.in_height * line;
  const hn::ScalableTag<Compared<T>> lanes_of;
  for (std::int64_t item = begin; item < end; ++item) {
    const std::int64_t h = item % job.out_height, d = item / job.out_height % job.out_depth,
                       plane = item / job.out_height / job.out_depth;
    const T* from = x + (plane * job.in_depth + job.slices.first[d]) * slice + job.rows.first[h] * line;
    const std::int64_t slices = tapsOf(job.slices, d), rows = tapsOf(job.rows, h);
    T* to = y + item * job.out_width * job.inner;
    if (job.apart && slices == 1 && rows > 0 && job.inner >= static_cast<std::int64_t>(hn::Lanes(lanes_of))) {
      joinWindows(job, from, rows, to);
      continue;
    }
    if (slices == 1 && rows == 1) {
      joinColumns(job, from, scratch + line, to);
      continue;
    }
    if (slices <= 0) join(from, {0, 0}, line, scratch);
    for (std::int64_t k = 0; k < slices; ++k)
      join(from + k * job.slices.step * slice, {job.rows.step * line, rows, k > 0}, line, scratch);
    joinColumns(job, static_cast<const Compared<T>*>(scratch), scratch + line, to);
  }
}

// Items are result lines over all planes. scratch: a source line, two where the inner size is 1.
void runPoolMax(const PoolMaxJob& job, const void* x, void* y, void* scratch, std::int64_t begin, std::int64_t end) {
  const auto run = [&](auto zero) {
    using T = decltype(zero);
    poolLines(job, static_cast<const T*>(x), static_cast<T*>(y), static_cast<Compared<T>*>(scratch), begin, end);
  };
  if (job.dtype == DType::kU8) return run(std::uint8_t{});
  if (job.dtype == DType::kS8) return run(std::int8_t{});
  if (job.dtype == DType::kBf16) return run(std::uint16_t{});
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

// True if a column belongs to less than two windows on average, and no window is empty.
bool windowsAreApart(const AxisWindows& columns) {
  const std::size_t last = columns.first.size() - 1;
  std::int64_t taps = 0;
  for (std::size_t w = 0; w <= last; ++w) {
    if (columns.last[w] <= columns.first[w]) return false;
    taps += (columns.last[w] - columns.first[w] + columns.step - 1) / columns.step;
  }
  return last > 0 && taps < 2 * (columns.last[last] - columns.first[0]);
}

class PoolMaxSimd final : public Kernel {
 public:
  const char* name() const override { return "pool_max_simd"; }

  Verdict supports(const PrepareArgs& args) const override {
    const DType dtype = args.src[0].dtype;
    const bool known = dtype == DType::kF32 || dtype == DType::kBf16 || dtype == DType::kU8 || dtype == DType::kS8;
    if (!known || args.dst[0].dtype != dtype) return Verdict::no("dtype");
    if (args.spec.stringOr("mode", "max") != "max") return Verdict::no("mode");
    if (!args.spec.post_ops.empty()) return Verdict::no("post-ops");
    return args.src[0].dims.count() > 0 && args.dst[0].dims.count() > 0 ? Verdict::yes() : Verdict::no("empty");
  }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string* reason) const override {
    const TensorDesc& x = args.src[0];
    const bool row_major = x.block == 0 && !x.isChannelsLast();
    if (row_major && elementBytes(x.dtype) == 1) {
      *reason = "row-major";
      return nullptr;
    }
    const Dims& y = args.dst[0].dims;
    const int rank = y.rank, spatial = rank - 2;
    auto op = std::make_unique<PoolMaxOp>();
    op->src = {row_major ? contiguousDesc(x.dtype, x.dims) : x};
    op->dst = {laidOutLike(op->src[0], x.dtype, y)};
    op->packed = {false};
    PoolMaxJob& job = op->job;
    job.dtype = x.dtype;
    const auto windows = [&](int axis) { return poolWindows(args.spec, axis - 2, spatial, x.dims[axis], y[axis]); };
    if (spatial == 3) {
      job.in_depth = x.dims[2];
      job.out_depth = y[2];
      job.slices = windows(2);
    }
    if (spatial >= 2) {
      job.in_height = x.dims[rank - 2];
      job.out_height = y[rank - 2];
      job.rows = windows(rank - 2);
    }
    job.in_width = x.dims[rank - 1];
    job.out_width = y[rank - 1];
    job.columns = windows(rank - 1);
    job.column_taps = *std::max_element(job.columns.counted.begin(), job.columns.counted.end());
    job.apart = windowsAreApart(job.columns);
    job.inner = row_major ? 1 : x.block > 0 ? x.block : x.dims[1];
    op->items = x.dims[0] * ((x.dims[1] + job.inner - 1) / job.inner) * job.out_depth * job.out_height;
    const auto element = static_cast<std::int64_t>(elementBytes(x.dtype));
    const std::int64_t compared = x.dtype == DType::kBf16 ? 4 : element;
    op->grain = grainFor(job.lineElements() * element);
    op->threads = args.target.threads;
    op->bytes_per_thread = ((job.inner == 1 ? 2 : 1) * job.lineElements() * compared + 63) / 64 * 64;
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
