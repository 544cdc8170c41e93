// Nearest, bilinear and bicubic resampling of images and lines in row-major, channels-last or channel-blocked layout.
// Rows are combined first (vectors along the row), then columns. Of f32 or bf16, whose results are computed in f32 and
// rounded once.
//
// Declines: dtype, rank (volumes), mode, post-ops, empty.
#define HWY_TARGET_INCLUDE "kernels/vision/upsample_simd.cpp"
#include "kernels/common/simd-inl.h"

#include <cstring>
#include <type_traits>

#include "kernels/common/bf16-inl.h"
#include "kernels/vision/upsample_job.h"

HWY_BEFORE_NAMESPACE();
namespace ipex_studio::HWY_NAMESPACE {

// to = Σ weight[t] · from[t], or += when `add`.
template <class T>
void combine(const T* from, float weight, std::int64_t count, bool add, float* to) {
  const F32 d;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const VF w = hn::Set(d, weight);
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const VF v = loadFloats(d, from + i);
    hn::StoreU(add ? hn::MulAdd(v, w, hn::LoadU(d, to + i)) : hn::Mul(v, w), d, to + i);
  }
  for (; i < count; ++i) to[i] = add ? to[i] + loadFloat(from + i) * weight : loadFloat(from + i) * weight;
}

// The weighted sum of `taps` pixels of `count` values each.
template <class From, class To>
HWY_INLINE void combinePixels(const From* row, const std::int64_t* index, const float* weight, int taps,
                              std::int64_t count, To* to) {
  const F32 d;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    VF sum = hn::Mul(loadFloats(d, row + index[0] * count + i), hn::Set(d, weight[0]));
    for (int t = 1; t < taps; ++t)
      sum = hn::MulAdd(loadFloats(d, row + index[t] * count + i), hn::Set(d, weight[t]), sum);
    storeFloats(d, sum, to + i);
  }
  for (; i < count; ++i) {
    float sum = loadFloat(row + index[0] * count + i) * weight[0];
    for (int t = 1; t < taps; ++t) sum += loadFloat(row + index[t] * count + i) * weight[t];
    storeFloat(sum, to + i);
  }
}

template <class From, class To>
void columnsOf(const UpsampleJob& job, const From* row, To* y) {
  const AxisTaps& taps = job.columns;
  if (job.inner == 1 && taps.count == 1) {
    for (std::int64_t w = 0; w < job.out_width; ++w) storeFloat(loadFloat(row + taps.index[w]), y + w);
    return;
  }
  if (job.inner == 1 && taps.count == 2) {
    const std::int64_t* index = taps.index.data();
    const float* weight = taps.weight.data();
    for (std::int64_t w = 0; w < job.out_width; ++w) {
      storeFloat(loadFloat(row + index[2 * w]) * weight[2 * w] + loadFloat(row + index[2 * w + 1]) * weight[2 * w + 1],
                 y + w);
    }
    return;
  }
  for (std::int64_t w = 0; w < job.out_width; ++w) {
    const std::int64_t* index = taps.index.data() + w * taps.count;
    const float* weight = taps.weight.data() + w * taps.count;
    To* const to = y + w * job.inner;
    if (std::is_same_v<From, To> && taps.count == 1) {
      std::memcpy(to, row + index[0] * job.inner, job.inner * sizeof(To));
    } else {
      combinePixels(row, index, weight, taps.count, job.inner, to);
    }
  }
}

// Items are result rows over all planes. scratch: one source row.
template <class T>
void runUpsample(const UpsampleJob& job, const void* x, void* y, float* scratch, std::int64_t begin, std::int64_t end) {
  const std::int64_t row_values = job.in_width * job.inner;
  for (std::int64_t item = begin; item < end; ++item) {
    const std::int64_t plane = item / job.out_height, h = item % job.out_height;
    const T* const image = static_cast<const T*>(x) + plane * job.in_height * row_values;
    const std::int64_t* index = job.rows.index.data() + h * job.rows.count;
    const float* weight = job.rows.weight.data() + h * job.rows.count;
    T* const to = static_cast<T*>(y) + item * job.out_width * job.inner;
    if (job.rows.count == 1) {
      columnsOf(job, image + index[0] * row_values, to);
      continue;
    }
    for (int t = 0; t < job.rows.count; ++t)
      combine(image + index[t] * row_values, weight[t], row_values, t > 0, scratch);
    columnsOf(job, static_cast<const float*>(scratch), to);
  }
}

using UpsampleRun = void (*)(const UpsampleJob&, const void*, void*, float*, std::int64_t, std::int64_t);

UpsampleRun upsampleRun(bool bf16) { return bf16 ? &runUpsample<std::uint16_t> : &runUpsample<float>; }

}  // namespace ipex_studio::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <algorithm>
#include <cmath>

#include "core/op/kernel.h"
#include "kernels/common/loop_nest.h"
#include "kernels/common/parallel.h"

namespace ipex_studio {
namespace {

HWY_EXPORT(upsampleRun);

using UpsampleRun = void (*)(const UpsampleJob&, const void*, void*, float*, std::int64_t, std::int64_t);

class UpsampleOp final : public PreparedOp {
 public:
  UpsampleJob job;
  UpsampleRun run = nullptr;
  std::int64_t items = 0, grain = 1, floats_per_thread = 0;
  std::int32_t threads = 1;

  void execute(ExecState*, const void* const* from, void* const* to, void* scratch) const override {
    parallelFor(items, grain, threads, [&](std::int64_t begin, std::int64_t end, int thread) {
      float* const row = static_cast<float*>(scratch) + thread * floats_per_thread;
      run(job, from[0], to[0], row, begin, end);
    });
  }
};

// The cubic kernel with a = -0.75.
double cubic(double distance) {
  constexpr double a = -0.75;
  const double x = std::fabs(distance);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

AxisTaps makeTaps(const std::string& mode, bool align_corners, std::int64_t in, std::int64_t out) {
  AxisTaps taps;
  taps.count = mode == "nearest" ? 1 : mode == "bilinear" ? 2 : 4;
  if (in == out && mode != "bicubic") taps.count = 1;
  const double scale = align_corners ? (out > 1 ? double(in - 1) / double(out - 1) : 0.0) : double(in) / double(out);
  for (std::int64_t o = 0; o < out; ++o) {
    double at = align_corners ? double(o) * scale : (double(o) + 0.5) * scale - 0.5;
    if (in == out) at = double(o);
    if (mode == "nearest") at = std::floor(static_cast<float>(o) * (static_cast<float>(in) / static_cast<float>(out)));
    if (mode != "bicubic") at = std::max(at, 0.0);
    const double floor = std::floor(at), fraction = at - floor;
    const int first = taps.count == 4 ? -1 : 0;
    for (int t = first; t < first + taps.count; ++t) {
      taps.index.push_back(std::clamp<std::int64_t>(static_cast<std::int64_t>(floor) + t, 0, in - 1));
      const double weight = taps.count == 1   ? 1
                            : taps.count == 2 ? (t == 0 ? 1 - fraction : fraction)
                                              : cubic(t - fraction);
      taps.weight.push_back(static_cast<float>(weight));
    }
  }
  return taps;
}

class UpsampleSimd final : public Kernel {
 public:
  const char* name() const override { return "upsample_simd"; }

  Verdict supports(const PrepareArgs& args) const override {
    const DType dtype = args.src[0].dtype;
    if ((dtype != DType::kF32 && dtype != DType::kBf16) || args.dst[0].dtype != dtype) return Verdict::no("dtype");
    if (args.src[0].dims.rank > 4) return Verdict::no("rank");
    if (!args.spec.post_ops.empty()) return Verdict::no("post-ops");
    const std::string mode = args.spec.stringOr("mode", "nearest");
    if (mode != "nearest" && mode != "bilinear" && mode != "bicubic") return Verdict::no("mode");
    return args.src[0].dims.count() > 0 && args.dst[0].dims.count() > 0 ? Verdict::yes() : Verdict::no("empty");
  }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string*) const override {
    const TensorDesc& given = args.src[0];
    const TensorDesc x = isDenseLayout(given) ? given : contiguousDesc(given.dtype, given.dims);
    const Dims& y = args.dst[0].dims;
    auto op = std::make_unique<UpsampleOp>();
    op->src = {x};
    op->dst = {laidOutLike(x, x.dtype, y)};
    op->packed = {false};
    UpsampleJob& job = op->job;
    const int rank = y.rank;
    if (rank == 4) {
      job.in_height = x.dims[2];
      job.out_height = y[2];
    }
    job.in_width = x.dims[rank - 1];
    job.out_width = y[rank - 1];
    const bool channels_last = x.block == 0 && !x.isContiguous();
    job.inner = x.block > 0 ? x.block : channels_last ? x.dims[1] : 1;
    const std::string mode = args.spec.stringOr("mode", "nearest");
    const bool align = args.spec.intOr("align_corners", 0) != 0;
    job.rows = makeTaps(rank == 4 ? mode : "nearest", align, job.in_height, job.out_height);
    job.columns = makeTaps(mode, align, job.in_width, job.out_width);
    op->items = x.dims[0] * ((x.dims[1] + job.inner - 1) / job.inner) * job.out_height;
    op->grain = grainFor(job.out_width * job.inner * job.columns.count);
    op->threads = args.target.threads;
    op->floats_per_thread = (job.in_width * job.inner + 15) / 16 * 16;
    op->scratch_bytes = op->floats_per_thread * op->threads * sizeof(float);
    op->run = IPEX_SELECT_TARGET(upsampleRun, args.target.isa)(x.dtype == DType::kBf16);
    op->flops = 2 * y.count() * job.rows.count * job.columns.count;
    return op;
  }
};

}  // namespace

std::unique_ptr<Kernel> makeUpsampleSimd() { return std::make_unique<UpsampleSimd>(); }

}  // namespace ipex_studio

#endif  // HWY_ONCE
