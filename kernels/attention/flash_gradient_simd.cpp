// The gradient of attention, in tiles: the scores of one block of queries with one block of keys are computed again
// from q, k and the logarithms of the sums, so that nothing of the size queries × keys is kept.
//
// Weights and gradients of scores stand as [key][query] with queries in vectors, so q and the gradient of y are
// transposed once per block of queries, and maxima, sums and masks of queries need no exchange between lanes. All five
// products are tiles of scalars times vectors (attention_tile-inl.h):
//
//   scores = k · qᵀ     of_weights = v · of_yᵀ     of_v += weights · of_y     of_k += of_scores · q
//   of_qᵀ += kᵀ · of_scores
#define HWY_TARGET_INCLUDE "kernels/attention/flash_gradient_simd.cpp"
#include "kernels/common/simd-inl.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "kernels/attention/attention_tile-inl.h"
#include "kernels/attention/flash_attention.h"
#include "kernels/common/partial_vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ipex_studio::HWY_NAMESPACE {

constexpr std::int64_t kFlashQueries = 64;  // of a block; whole panels on all machines
constexpr std::int64_t kFlashKeys = 120;    // of a block; whole tiles of 4, 5, 6 or 8 rows

// A matrix as rows of scalars: element (r, k) lies at data[r · row + k · step].
struct ScalarRows {
  const float* data;
  std::int64_t row, step, rows;
};

// c += a · panel, where panel holds `depth` rows of kVectors vectors; c's rows lie c_row apart. fresh: c is not read.
template <int kVectors>
HWY_INLINE void multiplyPanel(const ScalarRows& a, const float* panel, std::int64_t depth, float* c, std::int64_t c_row,
                              bool fresh) {
  constexpr int kRows = rowsFor(kVectors);
  const F32 d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t first = 0; first < a.rows; first += kRows) {
    const float* rows[kRows];
    float* to[kRows];
    for (int r = 0; r < kRows; ++r) {
      const std::int64_t row = std::min<std::int64_t>(first + r, a.rows - 1);
      rows[r] = a.data + row * a.row;
      to[r] = c + row * c_row;
    }
    VF sum[kRows][kVectors];
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) sum[r][v] = fresh ? hn::Zero(d) : hn::Load(d, to[r] + v * lanes);
    }
    multiplyTile<kRows, kVectors>(rows, a.step, panel, depth, sum);
    const std::int64_t left = a.rows - first;
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      if (r >= left) break;
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) hn::Store(sum[r][v], d, to[r] + v * lanes);
    }
  }
}

// Matrices of `columns` columns that are cut into panels of at most kMaxVectors vectors, the last one narrower.
class Panels {
 public:
  explicit Panels(std::int64_t columns)
      : columns_(columns),
        lanes_(static_cast<std::int64_t>(hn::Lanes(F32()))),
        vectors_((columns + lanes_ - 1) / lanes_) {}

  std::int64_t wide() const { return vectors_ * lanes_; }
  std::int64_t count() const { return (vectors_ + kMaxVectors - 1) / kMaxVectors; }

  // Packs `rows` rows, filled up with zeros to whole vectors and to `all_rows` rows.
  void pack(const float* from, std::int64_t row, std::int64_t rows, std::int64_t all_rows, float factor,
            float* to) const {
    const F32 d;
    const VF f = hn::Set(d, factor);
    for (std::int64_t panel = 0; panel < count(); ++panel) {
      const std::int64_t first = panel * kMaxVectors * lanes_, wide = vectorsOf(panel) * lanes_;
      for (std::int64_t r = 0; r < rows; ++r, to += wide) {
        const float* const at = from + r * row + first;
        const std::int64_t given = std::min(wide, columns_ - first);
        std::int64_t e = 0;
        for (; e + lanes_ <= given; e += lanes_) hn::Store(hn::Mul(f, hn::LoadU(d, at + e)), d, to + e);
        if (e < given) hn::Store(hn::Mul(f, loadFirst(at + e, given - e)), d, to + e);
      }
      std::fill(to, to + (all_rows - rows) * wide, 0.0f);
      to += (all_rows - rows) * wide;
    }
  }

  // c += a · rows [first, first + depth) of the packed matrix of `all_rows` rows. c's rows lie wide() apart.
  void multiply(const ScalarRows& a, const float* packed, std::int64_t all_rows, std::int64_t first, std::int64_t depth,
                float* c, bool fresh) const {
    for (std::int64_t panel = 0; panel < count(); ++panel) {
      const std::int64_t vectors = vectorsOf(panel), begin = panel * kMaxVectors * lanes_;
      const float* const at = packed + all_rows * begin + first * vectors * lanes_;
      multiplyPanels(vectors, a, at, depth, c + begin, wide(), fresh);
    }
  }

 private:
  std::int64_t vectorsOf(std::int64_t panel) const {
    return std::min<std::int64_t>(kMaxVectors, vectors_ - panel * kMaxVectors);
  }

  static void multiplyPanels(std::int64_t vectors, const ScalarRows& a, const float* panel, std::int64_t depth,
                             float* c, std::int64_t c_row, bool fresh) {
    switch (vectors) {
      case 1:
        return multiplyPanel<1>(a, panel, depth, c, c_row, fresh);
      case 2:
        return multiplyPanel<2>(a, panel, depth, c, c_row, fresh);
#if HWY_TARGET <= HWY_AVX3
      case 3:
        return multiplyPanel<3>(a, panel, depth, c, c_row, fresh);
      default:
        return multiplyPanel<4>(a, panel, depth, c, c_row, fresh);
#else
      default:
        return;
#endif
    }
  }

  std::int64_t columns_, lanes_, vectors_;
};

// Gradients of one key head. Panels of queries are kPanel wide.
class FlashGradient {
 public:
  FlashGradient(const FlashJob& job, const HeadGradient<float>& head, float* scratch)
      : job_(job), head_(head), depth_(job.depth), width_(job.width) {
    panel_ = kMaxVectors * static_cast<std::int64_t>(hn::Lanes(F32()));
    queries_ = take(scratch, kFlashQueries * job.depth);
    turned_of_y_ = take(scratch, kFlashQueries * job.width);
    packed_q_ = take(scratch, kFlashQueries * depth_.wide());
    packed_of_y_ = take(scratch, kFlashQueries * width_.wide());
    of_q_ = take(scratch, kFlashQueries * job.depth);
    weights_ = take(scratch, kFlashQueries * kFlashKeys);
    of_scores_ = take(scratch, kFlashQueries * kFlashKeys);
    mask_ = take(scratch, job.has_mask ? panel_ * kFlashKeys : 0);
    logarithms_ = take(scratch, kFlashQueries);
    common_ = take(scratch, kFlashQueries);
    of_k_ = take(scratch, job.keys * depth_.wide());
    of_v_ = take(scratch, job.keys * width_.wide());
  }

  std::int64_t floats() const { return taken_; }

  void run() {
    std::fill(of_k_, of_k_ + job_.keys * depth_.wide(), 0.0f);
    std::fill(of_v_, of_v_ + job_.keys * width_.wide(), 0.0f);
    for (std::int64_t g = 0; g < job_.group; ++g) {
      for (std::int64_t first = 0; first < job_.queries; first += kFlashQueries)
        runQueries(g, first, std::min(kFlashQueries, job_.queries - first));
    }
    for (std::int64_t key = 0; key < job_.keys; ++key) {
      copyRow(of_k_ + key * depth_.wide(), head_.to.k + key * job_.depth, job_.depth);
      copyRow(of_v_ + key * width_.wide(), head_.to.v + key * job_.width, job_.width);
    }
  }

 private:
  // Without scratch memory, floats() alone is of use.
  float* take(float* scratch, std::int64_t floats) {
    const std::int64_t at = taken_;
    taken_ += (floats + 15) / 16 * 16;
    return scratch != nullptr ? scratch + at : nullptr;
  }

  static void copyRow(const float* from, float* to, std::int64_t count) {
    std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(float));
  }

  // Writes panels of queries: [panel][row of `from`'s columns][query of the panel].
  void turn(const float* from, std::int64_t row, std::int64_t count, std::int64_t columns, float factor, float* to) {
    if (count < kFlashQueries) std::fill(to, to + kFlashQueries * columns, 0.0f);
    for (std::int64_t at = 0; at < count; at += panel_) {
      transposeInto(from + at * row, {row, 1}, std::min(panel_, count - at), columns, factor, to + at * columns,
                    panel_);
    }
  }

  void runQueries(std::int64_t g, std::int64_t first, std::int64_t count) {
    const std::int64_t row = g * job_.queries + first;
    const float* const q = head_.from.q + g * job_.q.head + first * job_.q.row;
    const float* const of_y = head_.of_y + row * job_.width;
    const auto scale = static_cast<float>(job_.scale);
    turn(q, job_.q.row, count, job_.depth, scale, queries_);
    turn(of_y, job_.width, count, job_.width, 1.0f, turned_of_y_);
    depth_.pack(q, job_.q.row, count, kFlashQueries, scale, packed_q_);
    width_.pack(of_y, job_.width, count, kFlashQueries, 1.0f, packed_of_y_);
    sumUp(row, count);
    const std::int64_t keys = job_.causal ? std::min(job_.keys, first + count) : job_.keys;
    const std::int64_t panels = (count + panel_ - 1) / panel_;
    for (std::int64_t key = 0; key < keys; key += kFlashKeys) {
      const std::int64_t block = std::min(kFlashKeys, keys - key);
      const float *const k = head_.from.k + key * job_.k.row, *const v = head_.from.v + key * job_.v.row;
      for (std::int64_t p = 0; p < panels; ++p) {
        const std::int64_t at = p * panel_;
        float *const weights = weights_ + at * kFlashKeys, *const of_scores = of_scores_ + at * kFlashKeys;
        multiplyPanel<kMaxVectors>({k, job_.k.row, 1, block}, queries_ + at * job_.depth, job_.depth, weights, panel_,
                                   true);
        multiplyPanel<kMaxVectors>({v, job_.v.row, 1, block}, turned_of_y_ + at * job_.width, job_.width, of_scores,
                                   panel_, true);
        weigh(g, first + at, std::min(panel_, count - at), at, key, block, weights, of_scores);
        multiplyPanel<kMaxVectors>({k, 1, job_.k.row, job_.depth}, of_scores, block, of_q_ + at * job_.depth, panel_,
                                   key == 0);
        width_.multiply({weights, panel_, 1, block}, packed_of_y_, kFlashQueries, at, panel_,
                        of_v_ + key * width_.wide(), false);
        depth_.multiply({of_scores, panel_, 1, block}, packed_q_, kFlashQueries, at, panel_,
                        of_k_ + key * depth_.wide(), false);
      }
    }
    for (std::int64_t at = 0; at < count; at += panel_) {
      transposeInto(of_q_ + at * job_.depth, {panel_, 1}, job_.depth, std::min(panel_, count - at), scale,
                    head_.to.q + (row + at) * job_.depth, job_.depth);
    }
  }

  // Sets logarithms_ and common_, the products of y and its gradient. Queries that have no key, and those beyond the
  // last one, get the logarithm +inf, with which all their weights are 0.
  void sumUp(std::int64_t row, std::int64_t count) {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    const F32 d;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    for (std::int64_t i = 0; i < kFlashQueries; ++i) {
      if (i >= count) {
        logarithms_[i] = kInfinity;
        common_[i] = 0;
        continue;
      }
      const float logarithm = head_.logarithms[row + i];
      logarithms_[i] = logarithm == -kInfinity ? kInfinity : logarithm;
      const float *const y = head_.y + (row + i) * job_.width, *const of_y = head_.of_y + (row + i) * job_.width;
      VF sum = hn::Zero(d);
      std::int64_t e = 0;
      for (; e + lanes <= job_.width; e += lanes) sum = hn::MulAdd(hn::LoadU(d, y + e), hn::LoadU(d, of_y + e), sum);
      if (e < job_.width) sum = hn::MulAdd(loadFirst(y + e, job_.width - e), loadFirst(of_y + e, job_.width - e), sum);
      common_[i] = hn::GetLane(hn::SumOfLanes(d, sum));
    }
  }

  // Replaces scores by weights, and gradients of weights by those of scores, for one panel of queries, which begins at
  // query `first` and at `at` in its block.
  void weigh(std::int64_t g, std::int64_t first, std::int64_t count, std::int64_t at, std::int64_t key,
             std::int64_t block, float* weights, float* of_scores) {
    const F32 d;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    const float* mask = nullptr;
    if (job_.has_mask) {
      mask = head_.from.mask + g * job_.mask.head + first * job_.mask.row + key * job_.mask_column;
      if (job_.mask.row != 0) {
        if (count < panel_) std::fill(mask_, mask_ + block * panel_, 0.0f);
        transposeInto(mask, {job_.mask.row, job_.mask_column}, count, block, 1.0f, mask_, panel_);
        mask = mask_;
      }
    }
    const bool of_queries = job_.mask.row != 0, crosses = job_.causal && key + block > first + 1;
    VF logarithms[kMaxVectors], common[kMaxVectors], query[kMaxVectors];
    for (int v = 0; v < kMaxVectors; ++v) {
      logarithms[v] = hn::Load(d, logarithms_ + at + v * lanes);
      common[v] = hn::Load(d, common_ + at + v * lanes);
      query[v] = hn::Iota(d, static_cast<float>(first + v * lanes));
    }
    for (std::int64_t i = 0; i < block; ++i) {
      const VF this_key = hn::Set(d, static_cast<float>(key + i));
#pragma GCC unroll 4
      for (int v = 0; v < kMaxVectors; ++v) {
        float *const w = weights + i * panel_ + v * lanes, *const s = of_scores + i * panel_ + v * lanes;
        VF score = hn::Load(d, w);
        if (mask != nullptr) {
          score = hn::Add(
              score, of_queries ? hn::Load(d, mask + i * panel_ + v * lanes) : hn::Set(d, mask[i * job_.mask_column]));
        }
        VF weight = expNonPositive(hn::Sub(score, logarithms[v]));
        if (crosses) weight = hn::IfThenElseZero(hn::Ge(query[v], this_key), weight);
        hn::Store(weight, d, w);
        hn::Store(hn::Mul(weight, hn::Sub(hn::Load(d, s), common[v])), d, s);
      }
    }
  }

  const FlashJob& job_;
  const HeadGradient<float>& head_;
  const Panels depth_, width_;
  std::int64_t panel_ = 0, taken_ = 0;
  float *queries_, *turned_of_y_;   // as panels of queries: [depth or width][query]
  float *packed_q_, *packed_of_y_;  // as panels of columns: [query][depth or width]
  float* of_q_;                     // as queries_
  float *weights_, *of_scores_;     // as panels of queries: [key][query]
  float *mask_, *logarithms_, *common_;
  float *of_k_, *of_v_;  // rows of whole vectors
};

std::int64_t flashGradientFloats(const FlashJob& job) {
  return FlashGradient(job, HeadGradient<float>(), nullptr).floats();
}

void runFlashGradient(const FlashJob& job, const HeadGradient<float>& head, float* scratch) {
  FlashGradient(job, head, scratch).run();
}

}  // namespace ipex_studio::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace ipex_studio {

HWY_EXPORT(flashGradientFloats);
HWY_EXPORT(runFlashGradient);

HeadGradientSimd headGradientSimd(const std::string& isa) {
  return {IPEX_SELECT_TARGET(flashGradientFloats, isa), IPEX_SELECT_TARGET(runFlashGradient, isa)};
}

}  // namespace ipex_studio

#endif  // HWY_ONCE
