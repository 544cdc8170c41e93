// Gradients of products of pairs of features. Those of all products of a sample become a symmetric matrix, and its
// product with the features is the gradient: (G + Gᵀ)·X. All of a sample is done in one visit, while it is in the
// nearest cache.
//
// Declines: dtype, post-ops.
#define HWY_TARGET_INCLUDE "kernels/index/interaction_backward_simd.cpp"
#include "kernels/common/simd-inl.h"

#include <algorithm>

#include "kernels/common/partial_vector-inl.h"
#include "kernels/index/interaction_job.h"

HWY_BEFORE_NAMESPACE();
namespace ipex_studio::HWY_NAMESPACE {

// G + Gᵀ, row-major, of the gradient of one sample's result.
HWY_INLINE void spreadGradient(const InteractionJob& job, const float* gradient, float* factors) {
  const std::int64_t n = job.featureCount();
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < i; ++j) {
      factors[i * n + j] = factors[j * n + i] = gradient[job.place(i, j)];
    }
    factors[i * n + i] = job.diagonal ? 2 * gradient[job.place(i, i)] : 0.0f;
  }
}

constexpr std::int64_t kGradientRows = 4;

// `lanes` values of the gradients of `kGradientRows` features: their factors times the values of all features.
HWY_INLINE void addFeatures(const InteractionJob& job, const void* const* from, std::int64_t sample,
                            const float* const* factors, std::int64_t begin, std::int64_t lanes, VF* sums) {
  const F32 d;
  for (VF* sum = sums; sum < sums + kGradientRows; ++sum) *sum = hn::Zero(d);
  for (std::int64_t j = 0; j < job.featureCount(); ++j) {
    const InteractionJob::Feature& place = job.features[static_cast<std::size_t>(j)];
    const float* const x = static_cast<const float*>(from[place.source]) + sample * place.stride + place.offset + begin;
    const VF values = lanes == static_cast<std::int64_t>(hn::Lanes(d)) ? hn::LoadU(d, x) : loadFirst(x, lanes);
    for (std::int64_t r = 0; r < kGradientRows; ++r) sums[r] = hn::MulAdd(hn::Set(d, factors[r][j]), values, sums[r]);
  }
}

// Computes samples [begin, end). `factors`: room for a matrix of all features.
void runInteractionBackward(const InteractionJob& job, const void* const* from, float* y, float* factors,
                            std::int64_t begin, std::int64_t end) {
  const F32 d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const std::int64_t n = job.featureCount();
  for (std::int64_t sample = begin; sample < end; ++sample) {
    const float* const gradient = static_cast<const float*>(from[0]) + sample * job.result_width;
    float* const result = y + sample * n * job.width;
    spreadGradient(job, gradient, factors);
    for (std::int64_t first = 0; first < n; first += kGradientRows) {
      const float* rows[kGradientRows];
      for (std::int64_t r = 0; r < kGradientRows; ++r) rows[r] = factors + std::min(first + r, n - 1) * n;
      for (std::int64_t e = 0; e < job.width; e += lanes) {
        const std::int64_t count = std::min(lanes, job.width - e);
        VF sums[kGradientRows];
        addFeatures(job, from, sample, rows, e, count, sums);
        for (std::int64_t r = 0; r < std::min(kGradientRows, n - first); ++r) {
          storeFirst(sums[r], result + (first + r) * job.width + e, count);
        }
      }
    }
    for (std::int64_t e = 0; e < job.dense; ++e) result[e] += gradient[e];
  }
}

}  // namespace ipex_studio::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "core/op/kernel.h"
#include "kernels/common/parallel.h"

namespace ipex_studio {
namespace {

HWY_EXPORT(runInteractionBackward);

class InteractionBackwardOp final : public PreparedOp {
 public:
  InteractionJob job;
  void (*run)(const InteractionJob&, const void* const*, float*, float*, std::int64_t, std::int64_t) = nullptr;
  std::int64_t samples = 0, grain = 1;
  std::int32_t threads = 1;

  void execute(ExecState*, const void* const* from, void* const* to, void* scratch) const override {
    const std::int64_t matrix = job.featureCount() * job.featureCount();
    parallelFor(samples, grain, threads, [&](std::int64_t begin, std::int64_t end, int thread) {
      run(job, from, static_cast<float*>(to[0]), static_cast<float*>(scratch) + thread * matrix, begin, end);
    });
  }
};

class InteractionBackwardSimd final : public Kernel {
 public:
  const char* name() const override { return "interaction_backward_simd"; }

  Verdict supports(const PrepareArgs& args) const override {
    if (args.dst[0].dtype != DType::kF32) return Verdict::no("dtype");
    return args.spec.post_ops.empty() ? Verdict::yes() : Verdict::no("post-ops");
  }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string*) const override {
    auto op = std::make_unique<InteractionBackwardOp>();
    op->job = interactionJob(args, 1, op.get());
    op->samples = args.dst[0].dims[0];
    const std::int64_t n = op->job.featureCount();
    op->grain = grainFor(n * n * op->job.width / 4);
    op->threads = args.target.threads;
    op->scratch_bytes = static_cast<std::size_t>(n * n * args.target.threads) * sizeof(float);
    op->run = IPEX_SELECT_TARGET(runInteractionBackward, args.target.isa);
    op->flops = 2 * op->samples * n * n * op->job.width;
    return op;
  }
};

}  // namespace

std::unique_ptr<Kernel> makeInteractionBackwardSimd() { return std::make_unique<InteractionBackwardSimd>(); }

}  // namespace ipex_studio

#endif  // HWY_ONCE
