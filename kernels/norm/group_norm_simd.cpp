// Group norm (and instance norm: as many groups as channels) in row-major and channels-last layout.
//
// Declines: dtype, post-ops, empty.
#define HWY_TARGET_INCLUDE "kernels/norm/group_norm_simd.cpp"
#include "kernels/common/simd-inl.h"

#include <algorithm>
#include <cmath>

#include "kernels/norm/group_norm_job.h"

HWY_BEFORE_NAMESPACE();
namespace ipex_studio::HWY_NAMESPACE {

constexpr std::int64_t kStretch = 256;  // pixels added in single precision before they go to a double

// Σ (x - mean) or Σ (x - mean)² of a run.
double runSum(const float* x, std::int64_t count, float mean, bool squared) {
  const F32 d;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const VF m = hn::Set(d, mean);
  double total = 0;
  for (std::int64_t from = 0; from < count; from += kStretch * 16) {
    const std::int64_t end = std::min(count, from + kStretch * 16);
    VF sum = hn::Zero(d);
    std::int64_t i = from;
    for (; i + lanes <= end; i += lanes) {
      const VF c = hn::Sub(hn::LoadU(d, x + i), m);
      sum = squared ? hn::MulAdd(c, c, sum) : hn::Add(sum, c);
    }
    total += hn::GetLane(hn::SumOfLanes(d, sum));
    for (; i < end; ++i) total += squared ? (x[i] - mean) * (x[i] - mean) : x[i] - mean;
  }
  return total;
}

void scaleRun(const float* x, std::int64_t count, float factor, float offset, float* y) {
  const F32 d;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const VF f = hn::Set(d, factor), o = hn::Set(d, offset);
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) hn::StoreU(hn::MulAdd(hn::LoadU(d, x + i), f, o), d, y + i);
  for (; i < count; ++i) y[i] = x[i] * factor + offset;
}

// Normalizes one (sample, group) of a row-major tensor: channels are runs of pixels.
void groupOfPlanes(const GroupNormJob& job, const float* const* src, float* y, std::int64_t item) {
  const std::int64_t channels = job.channels / job.groups, count = channels * job.pixels;
  const float* x = src[0] + item * count;
  const float mean = static_cast<float>(runSum(x, count, 0, false) / static_cast<double>(count));
  const double variance = runSum(x, count, mean, true) / static_cast<double>(count);
  const float factor = 1.0f / std::sqrt(static_cast<float>(variance) + job.eps);
  for (std::int64_t c = 0; c < channels; ++c) {
    const std::int64_t channel = item % job.groups * channels + c;
    const float scale = factor * (src[1] ? src[1][channel] : 1.0f);
    const float offset = (src[2] ? src[2][channel] : 0.0f) - mean * scale;
    scaleRun(x + c * job.pixels, job.pixels, scale, offset, y + item * count + c * job.pixels);
  }
}

// Per channel Σ (x - mean) or Σ (x - mean)², over all pixels of a channels-last sample; `part` is working memory.
void channelSums(const GroupNormJob& job, const float* x, const float* mean, bool squared, float* part, double* sums) {
  const F32 d;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d)), n = job.channels;
  std::fill(sums, sums + n, 0.0);
  for (std::int64_t from = 0; from < job.pixels; from += kStretch) {
    std::fill(part, part + n, 0.0f);
    for (std::int64_t p = from; p < std::min(job.pixels, from + kStretch); ++p) {
      const float* row = x + p * n;
      std::int64_t c = 0;
      for (; c + lanes <= n; c += lanes) {
        const VF v = hn::Sub(hn::LoadU(d, row + c), hn::LoadU(d, mean + c));
        const VF sum = hn::LoadU(d, part + c);
        hn::StoreU(squared ? hn::MulAdd(v, v, sum) : hn::Add(sum, v), d, part + c);
      }
      for (; c < n; ++c) part[c] += squared ? (row[c] - mean[c]) * (row[c] - mean[c]) : row[c] - mean[c];
    }
    for (std::int64_t c = 0; c < n; ++c) sums[c] += part[c];
  }
}

// Mean of `sums` over each group, written to each of its channels.
void groupMeans(const GroupNormJob& job, const double* sums, float* means) {
  const std::int64_t channels = job.channels / job.groups;
  for (std::int64_t g = 0; g < job.groups; ++g) {
    double total = 0;
    for (std::int64_t c = 0; c < channels; ++c) total += sums[g * channels + c];
    const float mean = static_cast<float>(total / static_cast<double>(channels * job.pixels));
    std::fill(means + g * channels, means + (g + 1) * channels, mean);
  }
}

// Normalizes one sample of a channels-last tensor. scratch: 5·channels floats.
void channelsLastSample(const GroupNormJob& job, const float* const* src, float* y, std::int64_t sample,
                        float* scratch) {
  const F32 d;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d)), n = job.channels;
  const float* x = src[0] + sample * n * job.pixels;
  float* const out = y + sample * n * job.pixels;
  double* const sums = reinterpret_cast<double*>(scratch);
  float *const mean = scratch + 2 * n, *const variance = scratch + 3 * n, *const part = scratch + 4 * n;
  std::fill(mean, mean + n, 0.0f);
  channelSums(job, x, mean, false, part, sums);
  groupMeans(job, sums, mean);
  channelSums(job, x, mean, true, part, sums);
  groupMeans(job, sums, variance);
  float *const factor = part, *const offset = variance;
  for (std::int64_t c = 0; c < n; ++c) {
    factor[c] = (src[1] ? src[1][c] : 1.0f) / std::sqrt(variance[c] + job.eps);
    offset[c] = (src[2] ? src[2][c] : 0.0f) - mean[c] * factor[c];
  }
  for (std::int64_t p = 0; p < job.pixels; ++p) {
    std::int64_t c = 0;
    for (; c + lanes <= n; c += lanes) {
      const VF v = hn::MulAdd(hn::LoadU(d, x + p * n + c), hn::LoadU(d, factor + c), hn::LoadU(d, offset + c));
      hn::StoreU(v, d, out + p * n + c);
    }
    for (; c < n; ++c) out[p * n + c] = x[p * n + c] * factor[c] + offset[c];
  }
}

void runGroupNorm(const GroupNormJob& job, const float* const* src, float* y, float* scratch, std::int64_t begin,
                  std::int64_t end) {
  for (std::int64_t item = begin; item < end; ++item) {
    if (job.channels_last) {
      channelsLastSample(job, src, y, item, scratch);
    } else {
      groupOfPlanes(job, src, y, item);
    }
  }
}

}  // namespace ipex_studio::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "core/op/kernel.h"
#include "kernels/common/loop_nest.h"
#include "kernels/common/parallel.h"

namespace ipex_studio {
namespace {

HWY_EXPORT(runGroupNorm);

using GroupNormRun = void (*)(const GroupNormJob&, const float* const*, float*, float*, std::int64_t, std::int64_t);
constexpr int kSources = 3;  // x, gamma, beta

class GroupNormOp final : public PreparedOp {
 public:
  GroupNormJob job;
  GroupNormRun run = nullptr;
  std::int64_t items = 0, grain = 1, floats_per_thread = 0;
  std::int32_t threads = 1;

  void execute(ExecState*, const void* const* from, void* const* to, void* scratch) const override {
    const float* sources[kSources];
    for (int s = 0; s < kSources; ++s) sources[s] = src[s].absent() ? nullptr : static_cast<const float*>(from[s]);
    parallelFor(items, grain, threads, [&](std::int64_t begin, std::int64_t end, int thread) {
      float* const own = static_cast<float*>(scratch) + thread * floats_per_thread;
      run(job, sources, static_cast<float*>(to[0]), own, begin, end);
    });
  }
};

class GroupNormSimd final : public Kernel {
 public:
  const char* name() const override { return "group_norm_simd"; }

  Verdict supports(const PrepareArgs& args) const override {
    for (const TensorDesc& src : args.src) {
      if (!src.absent() && src.dtype != DType::kF32) return Verdict::no("dtype");
    }
    if (!args.spec.post_ops.empty()) return Verdict::no("post-ops");
    return args.src[0].dims.count() > 0 ? Verdict::yes() : Verdict::no("empty");
  }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string*) const override {
    const TensorDesc& given = args.src[0];
    const bool channels_last = !given.isContiguous() && given.isChannelsLast();
    const TensorDesc x =
        channels_last ? channelsLastDesc(DType::kF32, given.dims) : contiguousDesc(DType::kF32, given.dims);
    auto op = std::make_unique<GroupNormOp>();
    op->src = {x};
    for (int s = 1; s < kSources; ++s) {
      const TensorDesc& affine = args.src[s];
      op->src.push_back(affine.absent() ? affine : contiguousDesc(DType::kF32, affine.dims));
    }
    op->dst = {x};
    op->packed.assign(kSources, false);
    GroupNormJob& job = op->job;
    job.channels = x.dims[1];
    job.pixels = x.dims.count() / (x.dims[0] * x.dims[1]);
    job.groups = args.spec.intOr("groups", 1);
    job.eps = static_cast<float>(args.spec.floatOr("eps", 1e-5));
    job.channels_last = channels_last;
    op->items = x.dims[0] * (channels_last ? 1 : job.groups);
    op->grain = grainFor(x.dims.count() / op->items);
    op->threads = args.target.threads;
    op->floats_per_thread = channels_last ? (5 * job.channels + 15) / 16 * 16 : 0;
    op->scratch_bytes = op->floats_per_thread * op->threads * sizeof(float);
    op->run = IPEX_SELECT_TARGET(runGroupNorm, args.target.isa);
    op->may_alias = true;
    op->flops = 6 * x.dims.count();
    return op;
  }
};

}  // namespace

std::unique_ptr<Kernel> makeGroupNormSimd() { return std::make_unique<GroupNormSimd>(); }

}  // namespace ipex_studio

#endif  // HWY_ONCE
