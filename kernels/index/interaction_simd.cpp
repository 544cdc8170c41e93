// Products of pairs of features. A tile of products is summed along the width with a vector each, so one vector of
// features serves several products; then the sums of all lanes of the tile come out as one vector. Features are read
// where they lie: neither a batch of matrices nor the half of the products that nobody reads is made.
//
// Declines: dtype, post-ops.
#define HWY_TARGET_INCLUDE "kernels/index/interaction_simd.cpp"
#include "kernels/common/simd-inl.h"

#include <algorithm>
#include <cstring>

#include "kernels/common/partial_vector-inl.h"
#include "kernels/index/interaction_job.h"

HWY_BEFORE_NAMESPACE();
namespace ipex_studio::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR

HWY_INLINE void multiplyFeatures(const InteractionJob& job, const float* const* features, float* y) {
  for (std::int64_t i = 0; i < job.featureCount(); ++i) {
    for (std::int64_t j = 0; j < (job.diagonal ? i + 1 : i); ++j) {
      float sum = 0;
      for (std::int64_t e = 0; e < job.width; ++e) {
        sum += features[i][e] * features[j][e];
      }
      y[job.place(i, j)] = sum;
    }
  }
}

#else

constexpr std::size_t kTileColumns = 4;
constexpr std::size_t kTileProducts = hn::MaxLanes(F32());  // of a tile: a vector of sums
constexpr std::size_t kTileRows = kTileProducts / kTileColumns;

#if HWY_TARGET == HWY_AVX2

// Block by block, the sums of the block's lanes of a, b, c and e. Interleaving within blocks is one instruction here,
// unlike moving across them.
HWY_INLINE VF sumsOfBlocks(VF a, VF b, VF c, VF e) {
  const F32 d;
  const hn::RepartitionToWide<F32> pairs;
  const auto ab = hn::BitCast(pairs, hn::Add(hn::InterleaveLower(d, a, b), hn::InterleaveUpper(d, a, b)));
  const auto ce = hn::BitCast(pairs, hn::Add(hn::InterleaveLower(d, c, e), hn::InterleaveUpper(d, c, e)));
  return hn::Add(hn::BitCast(d, hn::InterleaveLower(pairs, ab, ce)),
                 hn::BitCast(d, hn::InterleaveUpper(pairs, ab, ce)));
}

// Lane k of the result is the sum of all lanes of v[k].
HWY_INLINE VF sumsOfLanes(VF* v) {
  const F32 d;
  const VF low = sumsOfBlocks(v[0], v[1], v[2], v[3]), high = sumsOfBlocks(v[4], v[5], v[6], v[7]);
  return hn::Add(hn::ConcatLowerLower(d, high, low), hn::ConcatUpperUpper(d, high, low));
}

#else

HWY_INLINE VF sumsOfLanes(VF* v) {
  const F32 d;
  for (std::size_t left = kTileProducts; left > 1; left /= 2) {
    for (std::size_t k = 0; k < left / 2; ++k) {
      v[k] = hn::Add(hn::ConcatEven(d, v[2 * k + 1], v[2 * k]), hn::ConcatOdd(d, v[2 * k + 1], v[2 * k]));
    }
  }
  return v[0];
}

#endif

// The products of all features in `rows` with all in `columns`, row by row.
HWY_INLINE VF multiplyTile(const float* const* rows, const float* const* columns, std::int64_t width) {
  const F32 d;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  VF sums[kTileProducts];
  for (VF& sum : sums) sum = hn::Zero(d);
  std::int64_t e = 0;
  for (; e + lanes <= width; e += lanes) {
    VF column[kTileColumns];
    for (std::size_t c = 0; c < kTileColumns; ++c) column[c] = hn::LoadU(d, columns[c] + e);
    for (std::size_t r = 0; r < kTileRows; ++r) {
      const VF row = hn::LoadU(d, rows[r] + e);
      for (std::size_t c = 0; c < kTileColumns; ++c) {
        sums[r * kTileColumns + c] = hn::MulAdd(row, column[c], sums[r * kTileColumns + c]);
      }
    }
  }
  if (e < width) {
    for (std::size_t r = 0; r < kTileRows; ++r) {
      const VF row = loadFirst(rows[r] + e, width - e);
      for (std::size_t c = 0; c < kTileColumns; ++c) {
        sums[r * kTileColumns + c] = hn::MulAdd(row, loadFirst(columns[c] + e, width - e), sums[r * kTileColumns + c]);
      }
    }
  }
  return sumsOfLanes(sums);
}

HWY_INLINE void multiplyFeatures(const InteractionJob& job, const float* const* features, float* y) {
  const std::int64_t n = job.featureCount();
  constexpr auto kRows = static_cast<std::int64_t>(kTileRows), kColumns = static_cast<std::int64_t>(kTileColumns);
  for (std::int64_t first_row = 0; first_row < n; first_row += kRows) {
    const std::int64_t last_row = std::min(first_row + kRows, n) - 1;
    for (std::int64_t first = 0; first < (job.diagonal ? last_row + 1 : last_row); first += kColumns) {
      HWY_ALIGN float products[kTileProducts];
      hn::Store(multiplyTile(features + first_row, features + first, job.width), F32(), products);
      for (std::int64_t i = first_row; i <= last_row; ++i) {
        const std::int64_t end = std::min(first + kColumns, job.diagonal ? i + 1 : i);
        const std::int32_t* const places = job.places.data() + i * n;
        const float* const row = products + (i - first_row) * kColumns;
        for (std::int64_t j = first; j < end; ++j) y[places[j]] = row[j - first];
      }
    }
  }
}

#endif

// Computes samples [begin, end). `features`: room for the places of a sample's features and for a tile behind them.
void runInteraction(const InteractionJob& job, const void* const* from, const float** features, float* y,
                    std::int64_t begin, std::int64_t end) {
  const std::int64_t n = job.featureCount();
  for (std::int64_t sample = begin; sample < end; ++sample) {
    for (std::int64_t i = 0; i < n; ++i) {
      const InteractionJob::Feature& place = job.features[static_cast<std::size_t>(i)];
      features[i] = static_cast<const float*>(from[place.source]) + sample * place.stride + place.offset;
    }
    for (std::int64_t i = n; i < n + kFeaturesBehind; ++i) features[i] = features[n - 1];
    float* const result = y + sample * job.result_width;
    if (job.dense > 0) std::memcpy(result, features[0], static_cast<std::size_t>(job.dense) * sizeof(float));
    multiplyFeatures(job, features, result);
  }
}

}  // namespace ipex_studio::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "core/op/kernel.h"
#include "kernels/common/parallel.h"

namespace ipex_studio {
namespace {

HWY_EXPORT(runInteraction);

class InteractionOp final : public PreparedOp {
 public:
  InteractionJob job;
  void (*run)(const InteractionJob&, const void* const*, const float**, float*, std::int64_t, std::int64_t) = nullptr;
  std::int64_t samples = 0, grain = 1;
  std::int64_t places = 0;  // of features, per thread
  std::int32_t threads = 1;

  void execute(ExecState*, const void* const* from, void* const* to, void* scratch) const override {
    parallelFor(samples, grain, threads, [&](std::int64_t begin, std::int64_t end, int thread) {
      run(job, from, static_cast<const float**>(scratch) + thread * places, static_cast<float*>(to[0]), begin, end);
    });
  }
};

class InteractionSimd final : public Kernel {
 public:
  const char* name() const override { return "interaction_simd"; }

  Verdict supports(const PrepareArgs& args) const override {
    if (args.dst[0].dtype != DType::kF32) return Verdict::no("dtype");
    return args.spec.post_ops.empty() ? Verdict::yes() : Verdict::no("post-ops");
  }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string*) const override {
    auto op = std::make_unique<InteractionOp>();
    op->job = interactionJob(args, 0, op.get());
    op->samples = args.dst[0].dims[0];
    const std::int64_t products = op->job.result_width - op->job.dense;
    op->grain = grainFor(products * op->job.width / 4);
    op->threads = args.target.threads;
    op->places = op->job.featureCount() + kFeaturesBehind;
    op->scratch_bytes = static_cast<std::size_t>(op->places * op->threads) * sizeof(const float*);
    op->run = IPEX_SELECT_TARGET(runInteraction, args.target.isa);
    op->flops = 2 * op->samples * products * op->job.width;
    return op;
  }
};

}  // namespace

std::unique_ptr<Kernel> makeInteractionSimd() { return std::make_unique<InteractionSimd>(); }

}  // namespace ipex_studio

#endif  // HWY_ONCE
