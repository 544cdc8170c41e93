// softmax(scale · q·kᵀ + mask) · v in tiles: scores of one block of queries with one block of keys at a time, a running
// maximum and sum per query (Milakov & Gimelshein, arXiv:1805.02867; Dao et al., FlashAttention, arXiv:2205.14135).
// Queries are the lanes of vectors: scores stand as [key][query], so q is transposed once per block of queries, k and v
// are read as scalars where they lie, in any strides, and maxima and sums need no exchange between lanes. Few queries
// go one by one along depth and width instead. A mask that stays, or that several heads share, is asked for with its
// queries side by side; any other is transposed for each block.
//
// y is written with the two innermost batch-like axes exchanged where spec says heads_last: [N, H, S, D] lies in memory
// as [N, S, H, D], as the projection behind it wants to read it.
//
// Declines: dtype, empty, layout (channel-blocked sources), post-ops, precision (products that are asked for in BF16).
#define HWY_TARGET_INCLUDE "kernels/attention/attention_simd.cpp"
#include "kernels/common/simd-inl.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/attention/attention_job.h"
#include "kernels/attention/attention_rows-inl.h"
#include "kernels/attention/attention_tile-inl.h"
#include "kernels/common/partial_vector-inl.h"
#include "kernels/common/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ipex_studio::HWY_NAMESPACE {

constexpr float kLowest = -std::numeric_limits<float>::infinity();

// One block of kVectors vectors of queries against all keys of its head.
template <int kVectors>
class QueryBlock {
 public:
  static constexpr int kRows = rowsFor(kVectors);

  QueryBlock(const AttentionJob& job, const AttentionOperands& at, std::int64_t first_query, float* scratch)
      : job_(job), at_(at), first_(first_query), lanes_(static_cast<std::int64_t>(hn::Lanes(F32()))) {
    wide_ = kVectors * lanes_;
    count_ = std::min(wide_, job.queries - first_query);
    queries_ = scratch;
    result_ = queries_ + job.depth * wide_;
    scores_ = result_ + (job.width + kMaxRows) * wide_;
  }

  void run() {
    if (count_ < wide_) std::fill(queries_, queries_ + job_.depth * wide_, 0.0f);
    transposeInto(static_cast<const float*>(at_.q) + first_ * job_.q.row, job_.q, count_, job_.depth, job_.scale,
                  queries_, wide_);
    const F32 d;
    for (int v = 0; v < kVectors; ++v) {
      highest_[v] = hn::Set(d, kLowest);
      sum_[v] = hn::Zero(d);
    }
    const std::int64_t keys = job_.causal ? std::min(job_.keys, first_ + count_) : job_.keys;
    for (std::int64_t begin = 0; begin < keys; begin += job_.key_block) {
      const std::int64_t count = std::min(job_.key_block, keys - begin);
      score(begin, count);
      exponentials(begin == 0, count);
      accumulate(begin, count);
    }
    finish();
  }

 private:
  // scores_[key][query] = scale · q·k + mask; raises highest_.
  void score(std::int64_t begin, std::int64_t count) {
    const bool turned_mask = job_.has_mask && job_.mask.row == 1, full_mask = job_.has_mask && job_.mask.row > 1;
    if (full_mask) {
      transposeInto(at_.mask + first_ * job_.mask.row + begin * job_.mask.column, job_.mask, count_, count, 1.0f,
                    scores_, wide_);
    }
    const F32 d;
    for (int v = 0; v < kVectors; ++v) before_[v] = highest_[v];
    for (std::int64_t key = 0; key < count; key += kRows) {
      const float* rows[kRows];
      for (int r = 0; r < kRows; ++r)
        rows[r] = static_cast<const float*>(at_.k) + (begin + std::min<std::int64_t>(key + r, count - 1)) * job_.k.row;
      VF sum[kRows][kVectors];
      zero(sum);
      multiplyTile<kRows, kVectors>(rows, job_.k.column, queries_, job_.depth, sum);
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
        if (key + r >= count) break;
        float* to = scores_ + (key + r) * wide_;
        const float* const mask = job_.has_mask ? at_.mask + (begin + key + r) * job_.mask.column : nullptr;
        const VF flat = hn::Set(d, job_.has_mask && !full_mask && !turned_mask ? *mask : 0.0f);
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) {
          VF value = sum[r][v];
          if (turned_mask) {
            value = maskedScore(job_, value, maskOf(mask, v));
          } else if (job_.has_mask) {
            value = maskedScore(job_, value, full_mask ? hn::Load(d, to + v * lanes_) : flat);
          }
          if (job_.causal)
            value = hn::IfThenElse(hn::Lt(queryIndex(v), hn::Set(d, static_cast<float>(begin + key + r))),
                                   hn::Set(d, kLowest), value);
          highest_[v] = hn::Max(value, highest_[v]);
          hn::Store(value, d, to + v * lanes_);
        }
      }
    }
  }

  // The mask of one vector of queries; its values lie side by side.
  HWY_INLINE VF maskOf(const float* mask, int v) const {
    const float* at = mask + first_ + v * lanes_;
    const std::int64_t left = count_ - v * lanes_;
    return left >= lanes_ ? hn::LoadU(F32(), at) : loadFirst(at, left);
  }

  VF queryIndex(int v) const { return hn::Iota(F32(), static_cast<float>(first_ + v * lanes_)); }

  // Replaces scores by their exponentials; earlier sums are scaled to the new maximum.
  void exponentials(bool is_first, std::int64_t count) {
    const F32 d;
    VF top[kVectors];
    for (int v = 0; v < kVectors; ++v) {
      // The scores of a query without any key so far are all -inf. Subtracting 0 instead of -inf gives them the weight
      // 0, not NaN.
      top[v] = hn::IfThenElse(hn::Eq(highest_[v], hn::Set(d, kLowest)), hn::Zero(d), highest_[v]);
      factor_[v] = is_first ? hn::Zero(d) : expNonPositive(hn::Sub(before_[v], top[v]));
    }
    VF total[kVectors];
    for (int v = 0; v < kVectors; ++v) total[v] = hn::Zero(d);
    for (std::int64_t key = 0; key < count; ++key) {
      float* at = scores_ + key * wide_;
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        const VF e = expNonPositive(hn::Sub(hn::Load(d, at + v * lanes_), top[v]));
        total[v] = hn::Add(total[v], e);
        hn::Store(e, d, at + v * lanes_);
      }
    }
    for (int v = 0; v < kVectors; ++v) sum_[v] = hn::MulAdd(sum_[v], factor_[v], total[v]);
    is_first_ = is_first;
  }

  // result_[column][query] = factor · result_ + scores · v.
  void accumulate(std::int64_t begin, std::int64_t count) {
    const F32 d;
    for (std::int64_t column = 0; column < job_.width; column += kRows) {
      const float* rows[kRows];
      for (int r = 0; r < kRows; ++r) {
        rows[r] = static_cast<const float*>(at_.v) + begin * job_.v.row +
                  std::min<std::int64_t>(column + r, job_.width - 1) * job_.v.column;
      }
      float* to = result_ + column * wide_;
      VF sum[kRows][kVectors];
      if (is_first_) {
        zero(sum);
      } else {
#pragma GCC unroll 8
        for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
          for (int v = 0; v < kVectors; ++v) sum[r][v] = hn::Mul(hn::Load(d, to + r * wide_ + v * lanes_), factor_[v]);
        }
      }
      multiplyTile<kRows, kVectors>(rows, job_.v.row, scores_, count, sum);
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) hn::Store(sum[r][v], d, to + r * wide_ + v * lanes_);
      }
    }
  }

  // Divides by the sums and writes the queries' rows.
  void finish() {
    const F32 d;
    VF inverse[kVectors];
    for (int v = 0; v < kVectors; ++v) inverse[v] = hn::Div(hn::Set(d, 1.0f), sum_[v]);
    if (at_.logarithms != nullptr) storeLogarithms(inverse);
    for (std::int64_t column = 0; column < job_.width; ++column) {
      for (int v = 0; v < kVectors; ++v) {
        float* at = result_ + column * wide_ + v * lanes_;
        hn::Store(hn::Mul(hn::Load(d, at), inverse[v]), d, at);
      }
    }
    if (job_.y_type == DType::kF32) {
      transposeInto(result_, {wide_, 1}, job_.width, count_, 1.0f, static_cast<float*>(resultRow(job_, at_, first_)),
                    job_.y.row);
      return;
    }
    float* const rows = result_ + (job_.width + kMaxRows + job_.key_block) * wide_;
    transposeInto(result_, {wide_, 1}, job_.width, count_, 1.0f, rows, job_.width);
    for (std::int64_t query = 0; query < count_; ++query)
      storeResult(job_, rows + query * job_.width, resultRow(job_, at_, first_ + query));
  }

  // Clears the inverse sums of queries whose scores are all -inf, too.
  void storeLogarithms(VF (&inverse)[kVectors]) const {
    const F32 d;
    for (int v = 0; v < kVectors; ++v) {
      const std::int64_t left = count_ - v * lanes_;
      if (left > 0) {
        storeFirst(hn::Add(highest_[v], logV(d, sum_[v])), at_.logarithms + first_ + v * lanes_,
                   std::min(left, lanes_));
      }
      inverse[v] = hn::IfThenElse(hn::Eq(sum_[v], hn::Zero(d)), hn::Zero(d), inverse[v]);
    }
  }

  static HWY_INLINE void zero(VF (&sum)[kRows][kVectors]) {
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) sum[r][v] = hn::Zero(F32());
    }
  }

  const AttentionJob& job_;
  const AttentionOperands& at_;
  std::int64_t first_, lanes_, wide_, count_;
  float *queries_, *result_, *scores_;
  VF highest_[kVectors], before_[kVectors], sum_[kVectors], factor_[kVectors];
  bool is_first_ = true;
};

// Items are blocks of queries; the blocks of one head are neighbours.
void runBlocks(const AttentionJob& job, const AttentionOperands& all, std::int64_t begin, std::int64_t end,
               float* scratch) {
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(F32()));
  for (std::int64_t item = begin; item < end; ++item) {
    const std::int64_t parts = job.blocks + (job.lone_queries > 0 ? 1 : 0), part = item % parts;
    const AttentionOperands at = operandsOfHead(job, all, item / parts);
    if (part == job.blocks) {
      for (std::int64_t query = job.queries - job.lone_queries; query < job.queries; ++query)
        attendRow<float, float, float>(job, at, query, scratch);
      continue;
    }
    const std::int64_t first = job.query_vectors * part / job.blocks;
    const std::int64_t vectors = job.query_vectors * (part + 1) / job.blocks - first;
    switch (vectors) {
      case 1:
        QueryBlock<1>(job, at, first * lanes, scratch).run();
        break;
      case 2:
        QueryBlock<2>(job, at, first * lanes, scratch).run();
        break;
#if HWY_TARGET <= HWY_AVX3
      case 3:
        QueryBlock<3>(job, at, first * lanes, scratch).run();
        break;
      default:
        QueryBlock<4>(job, at, first * lanes, scratch).run();
        break;
#else
      default:
        break;
#endif
    }
  }
}

void runRows(const AttentionJob& job, const AttentionOperands& all, std::int64_t begin, std::int64_t end,
             float* scratch) {
  attendRows<float, float, float>(job, all, begin, end, scratch);
}

// Sets the lone queries and the vectors of queries of `job`. most: vectors of one block at most on this instruction
// set.
void planBlocks(AttentionJob* job, std::int64_t* most) {
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(F32()));
  job->lone_queries = loneQueries(*job, lanes);
  job->query_vectors = (job->queries - job->lone_queries + lanes - 1) / lanes;
  *most = kMaxVectors;
}

}  // namespace ipex_studio::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "core/op/kernel.h"
#include "kernels/attention/attention_op.h"

namespace ipex_studio {
namespace {

HWY_EXPORT(runBlocks);
HWY_EXPORT(runRows);
HWY_EXPORT(planBlocks);

constexpr std::int64_t kMaxLanes = 16;

class AttentionSimd final : public Kernel {
 public:
  const char* name() const override { return "attention_simd"; }

  Verdict supports(const PrepareArgs& args) const override {
    if (args.spec.stringOr("products", "f32") != "f32") return Verdict::no("precision");
    return takesAttention(args, [](DType dtype) { return dtype == DType::kF32; });
  }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string* reason) const override {
    PrepareArgs wanted = args;
    wanted.src[3] = maskLayout(args);
    std::unique_ptr<AttentionOp> op = describedAttention(wanted, reason);
    if (op) choose(args, op.get());
    return op;
  }

 private:
  // The layout to ask for the mask in: queries side by side where transposing it once is less work than for each head.
  static TensorDesc maskLayout(const PrepareArgs& args) {
    const TensorDesc& mask = args.src[3];
    const int r = mask.dims.rank;
    if (mask.absent() || r < 2 || mask.dims[r - 2] == 1 || mask.dims[r - 1] == 1) return mask;
    const Dims &y = args.dst[0].dims, &k = args.src[1].dims;
    const std::int64_t heads = y.count() / (y[y.rank - 2] * y[y.rank - 1]),
                       masks = mask.dims.count() / (mask.dims[r - 2] * mask.dims[r - 1]);
    const bool whole = mask.dims[r - 2] == y[y.rank - 2] && mask.dims[r - 1] == k[k.rank - 2];
    if (!whole || (args.constant[3] == nullptr && masks == heads)) return mask;
    return laidOutExchanged(mask, r - 2, r - 1);
  }

  static void choose(const PrepareArgs& args, AttentionOp* op) {
    AttentionJob& job = op->job;
    const std::int64_t heads = job.heads.count();
    if (attendsRowByRow(job)) {
      op->run = IPEX_SELECT_TARGET(runRows, args.target.isa);
      op->items = heads * job.queries;
      op->thread_floats = attentionRowFloats(job);
    } else {
      std::int64_t most = 1;
      IPEX_SELECT_TARGET(planBlocks, args.target.isa)(&job, &most);
      job.blocks = (job.query_vectors + most - 1) / most;
      // Size with which the scores of a block stay in the second-level cache. Keys that fit one block need no
      // rescaling.
      constexpr std::int64_t kKeyBlock = 256;
      const std::int64_t parts = (job.keys + kKeyBlock - 1) / kKeyBlock;
      job.key_block = (job.keys + parts - 1) / parts;
      op->run = IPEX_SELECT_TARGET(runBlocks, args.target.isa);
      op->items = heads * (job.blocks + (job.lone_queries > 0 ? 1 : 0));
      constexpr std::int64_t kMaxTileRows = 8, kMaxBlockVectors = 4;
      const std::int64_t converted = job.y_type == DType::kF32 ? 0 : job.width;
      op->thread_floats =
          std::max((job.depth + job.width + job.key_block + kMaxTileRows + converted) * kMaxLanes * kMaxBlockVectors,
                   job.lone_queries > 0 ? attentionRowFloats(job) : 0);
    }
    divideAttention(op, kMaxLanes);
  }
};

}  // namespace

std::unique_ptr<Kernel> makeAttentionSimd() { return std::make_unique<AttentionSimd>(); }

}  // namespace ipex_studio

#endif  // HWY_ONCE
