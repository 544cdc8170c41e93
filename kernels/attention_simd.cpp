// softmax(scale · q·kᵀ + mask) · v in tiles: scores of one block of queries with one block of keys at a time, a running
// maximum and sum per query (Milakov & Gimelshein, arXiv:1805.02867; Dao et al., FlashAttention, arXiv:2205.14135).
// Queries are the lanes of vectors: scores stand as [key][query], so q is transposed once per block of queries, k and v
// are read as scalars where they lie, in any strides, and maxima and sums need no exchange between lanes. Few queries
// go one by one along depth and width instead.
//
// y is written with the two innermost batch-like axes exchanged where spec says heads_last: [N, H, S, D] lies in memory
// as [N, S, H, D], as the projection behind it wants to read it.
//
// Declines: device, dtype, empty, layout (channel-blocked sources).
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/attention_simd.cpp"
#include "kernels/highway_targets.h"

// highway_targets.h comes first.
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/attention_job.h"
#include "kernels/attention_rows-inl.h"
#include "kernels/attention_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ipex_studio {
namespace HWY_NAMESPACE {

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
    transposeInto(at_.q + first_ * job_.q.row, job_.q, count_, job_.depth, job_.scale, queries_, wide_);
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
    const bool full_mask = job_.has_mask && job_.mask.row != 0;
    if (full_mask) {
      transposeInto(at_.mask + first_ * job_.mask.row + begin * job_.mask.column, job_.mask, count_, count, 1.0f, scores_, wide_);
    }
    const F32 d;
    for (int v = 0; v < kVectors; ++v) before_[v] = highest_[v];
    for (std::int64_t key = 0; key < count; key += kRows) {
      const float* rows[kRows];
      for (int r = 0; r < kRows; ++r) rows[r] = at_.k + (begin + std::min<std::int64_t>(key + r, count - 1)) * job_.k.row;
      VF sum[kRows][kVectors];
      zero(sum);
      multiplyTile<kRows, kVectors>(rows, job_.k.column, queries_, job_.depth, sum);
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
        if (key + r >= count) break;
        float* to = scores_ + (key + r) * wide_;
        const VF flat = hn::Set(d, job_.has_mask && !full_mask ? at_.mask[(begin + key + r) * job_.mask.column] : 0.0f);
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) {
          VF value = sum[r][v];
          if (job_.has_mask) value = maskedScore(job_, value, full_mask ? hn::Load(d, to + v * lanes_) : flat);
          if (job_.causal) value = hn::IfThenElse(hn::Lt(queryIndex(v), hn::Set(d, static_cast<float>(begin + key + r))), hn::Set(d, kLowest), value);
          highest_[v] = hn::Max(value, highest_[v]);
          hn::Store(value, d, to + v * lanes_);
        }
      }
    }
  }

  VF queryIndex(int v) const { return hn::Iota(F32(), static_cast<float>(first_ + v * lanes_)); }

  // Scores become their exponentials; what was summed up before is scaled to the new maximum.
  void exponentials(bool is_first, std::int64_t count) {
    const F32 d;
    VF top[kVectors];
    for (int v = 0; v < kVectors; ++v) {
      // A query without any key so far: its scores are all -inf, and so they must count as 0.
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
        rows[r] = at_.v + begin * job_.v.row + std::min<std::int64_t>(column + r, job_.width - 1) * job_.v.column;
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
    for (std::int64_t column = 0; column < job_.width; ++column) {
      for (int v = 0; v < kVectors; ++v) {
        float* at = result_ + column * wide_ + v * lanes_;
        hn::Store(hn::Mul(hn::Load(d, at), inverse[v]), d, at);
      }
    }
    float* y = at_.y + first_ * job_.y.row;
    if (job_.y.column == 1) {
      transposeInto(result_, {wide_, 1}, job_.width, count_, 1.0f, y, job_.y.row);
      return;
    }
    for (std::int64_t query = 0; query < count_; ++query) {
      for (std::int64_t column = 0; column < job_.width; ++column) {
        y[query * job_.y.row + column * job_.y.column] = result_[column * wide_ + query];
      }
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

AttentionOperands headOf(const AttentionJob& job, const AttentionOperands& all, std::int64_t head) {
  const int loops = job.heads.loops();
  const auto offset = [&](int tensor) { return job.heads.offset(tensor, head, loops); };
  return {all.q + offset(1), all.k + offset(2), all.v + offset(3), job.has_mask ? all.mask + offset(4) : nullptr, all.y + offset(0)};
}

// Items are queries, those of one head behind each other.
void runRows(const AttentionJob& job, const AttentionOperands& all, std::int64_t begin, std::int64_t end, float* scratch) {
  for (std::int64_t item = begin; item < end; ++item) {
    attendRow(job, headOf(job, all, item / job.queries), item % job.queries, scratch);
  }
}

// Items are blocks of queries, the blocks of one head behind each other.
void runBlocks(const AttentionJob& job, const AttentionOperands& all, std::int64_t begin, std::int64_t end, float* scratch) {
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(F32()));
  for (std::int64_t item = begin; item < end; ++item) {
    const std::int64_t part = item % job.blocks;
    const AttentionOperands at = headOf(job, all, item / job.blocks);
    const std::int64_t first = job.query_vectors * part / job.blocks;
    const std::int64_t vectors = job.query_vectors * (part + 1) / job.blocks - first;
    switch (vectors) {
      case 1: QueryBlock<1>(job, at, first * lanes, scratch).run(); break;
      case 2: QueryBlock<2>(job, at, first * lanes, scratch).run(); break;
#if HWY_TARGET <= HWY_AVX3
      case 3: QueryBlock<3>(job, at, first * lanes, scratch).run(); break;
      default: QueryBlock<4>(job, at, first * lanes, scratch).run(); break;
#else
      default: break;
#endif
    }
  }
}

// Vectors of queries, and how many of them at most go together, on this instruction set.
void planBlocks(std::int64_t queries, std::int64_t* vectors, std::int64_t* most) {
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(F32()));
  *vectors = (queries + lanes - 1) / lanes;
  *most = kMaxVectors;
}

}  // namespace HWY_NAMESPACE
}  // namespace ipex_studio
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "kernels/factories.h"
#include "kernels/parallel.h"

namespace ipex_studio {
namespace {

HWY_EXPORT(runBlocks);
HWY_EXPORT(runRows);
HWY_EXPORT(planBlocks);

constexpr std::int64_t kMaxLanes = 16;

using AttentionRun = void (*)(const AttentionJob&, const AttentionOperands&, std::int64_t, std::int64_t, float*);

class AttentionOp final : public PreparedOp {
 public:
  AttentionJob job;
  AttentionRun run = nullptr;
  std::int64_t items = 0, grain = 1, thread_floats = 0;
  std::int32_t threads = 1;

  void execute(ExecState*, const void* const* from, void* const* to, void* scratch) const override {
    const auto floats = [&](int s) { return static_cast<const float*>(from[s]); };
    const AttentionOperands operands{floats(0), floats(1), floats(2), floats(3), static_cast<float*>(to[0])};
    parallelFor(items, grain, threads, [&](std::int64_t begin, std::int64_t end, int thread) {
      run(job, operands, begin, end, static_cast<float*>(scratch) + thread * thread_floats);
    });
  }
};

MatrixStrides stridesOf(const TensorDesc& desc) {
  const int r = desc.dims.rank;
  return {desc.dims[r - 2] == 1 ? 0 : desc.strides[r - 2], desc.dims[r - 1] == 1 ? 0 : desc.strides[r - 1]};
}

TensorDesc headsOf(const TensorDesc& desc) {
  TensorDesc heads = desc;
  for (int axis : {desc.dims.rank - 2, desc.dims.rank - 1}) heads.dims[axis] = 1;
  return heads;
}

// y as if axes -3 and -2 were exchanged.
TensorDesc headsLast(const TensorDesc& y) {
  const int r = y.dims.rank;
  Dims turned = y.dims;
  std::swap(turned[r - 3], turned[r - 2]);
  TensorDesc desc = contiguousDesc(y.dtype, turned);
  std::swap(desc.strides[r - 3], desc.strides[r - 2]);
  desc.dims = y.dims;
  return desc;
}

class AttentionSimd final : public Kernel {
 public:
  const char* name() const override { return "attention_simd"; }

  Verdict supports(const PrepareArgs& args) const override {
    if (args.target.device.kind != DeviceKind::kCpu) return Verdict::no("device");
    for (const TensorDesc& src : args.src) {
      if (src.absent()) continue;
      if (src.dtype != DType::kF32) return Verdict::no("dtype");
      if (src.dims.count() == 0) return Verdict::no("empty");
      if (src.block != 0) return Verdict::no("layout");
    }
    return args.dst[0].dims.count() > 0 ? Verdict::yes() : Verdict::no("empty");
  }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string* reason) const override {
    auto op = std::make_unique<AttentionOp>();
    const int rank = args.dst[0].dims.rank;
    const TensorDesc y = args.spec.intOr("heads_last", 0) != 0 && rank > 2 ? headsLast(args.dst[0]) : args.dst[0];
    op->src = args.src;
    op->dst = {y};
    op->packed.assign(args.src.size(), false);
    AttentionJob& job = op->job;
    std::vector<TensorDesc> tensors{headsOf(y)};
    for (const TensorDesc& src : args.src) {
      if (!src.absent()) tensors.push_back(headsOf(alignRank(src, rank)));
    }
    if (!makeLoopNest(tensors, &job.heads)) {
      *reason = "layout";
      return nullptr;
    }
    const Dims &q = args.src[0].dims, &k = args.src[1].dims;
    job.queries = q[q.rank - 2];
    job.depth = q[q.rank - 1];
    job.keys = k[k.rank - 2];
    job.width = y.dims[rank - 1];
    job.y = stridesOf(y);
    job.q = stridesOf(args.src[0]);
    job.k = stridesOf(args.src[1]);
    job.v = stridesOf(args.src[2]);
    job.has_mask = !args.src[3].absent();
    if (job.has_mask) job.mask = stridesOf(alignRank(args.src[3], std::max(2, rank)));
    job.mask_use = args.spec.has("fill")   ? AttentionJob::MaskUse::kFill
                   : args.spec.has("keep") ? AttentionJob::MaskUse::kKeep
                                           : AttentionJob::MaskUse::kAdd;
    job.mask_value = static_cast<float>(args.spec.floatOr(args.spec.has("fill") ? "fill" : "keep", 0));
    job.causal = args.spec.intOr("causal", 0) != 0;
    job.scale = static_cast<float>(args.spec.floatOr("scale", 1));
    choose(args, op.get());
    return op;
  }

 private:
  static void choose(const PrepareArgs& args, AttentionOp* op) {
    AttentionJob& job = op->job;
    op->threads = args.target.threads;
    const std::int64_t heads = job.heads.count(), products = job.queries * job.keys * (job.depth + job.width);
    op->flops = 2 * heads * products;
    // A vector of queries costs the same with one lane in use as with all.
    constexpr std::int64_t kFewQueries = 4;
    if (job.queries <= kFewQueries && job.k.column == 1 && job.v.column == 1 && job.y.column == 1) {
      op->run = IPEX_SELECT_TARGET(runRows, args.target.isa);
      op->items = heads * job.queries;
      op->thread_floats = roundUp(job.keys) + roundUp(job.depth);
    } else {
      std::int64_t most = 1;
      IPEX_SELECT_TARGET(planBlocks, args.target.isa)(job.queries, &job.query_vectors, &most);
      job.blocks = (job.query_vectors + most - 1) / most;
      // Scores of a block stay in the second-level cache; one block where that is possible needs no rescaling.
      constexpr std::int64_t kKeyBlock = 256;
      const std::int64_t parts = (job.keys + kKeyBlock - 1) / kKeyBlock;
      job.key_block = (job.keys + parts - 1) / parts;
      op->run = IPEX_SELECT_TARGET(runBlocks, args.target.isa);
      op->items = heads * job.blocks;
      constexpr std::int64_t kMaxTileRows = 8, kMaxBlockVectors = 4;
      op->thread_floats = (job.depth + job.width + job.key_block + kMaxTileRows) * kMaxLanes * kMaxBlockVectors;
    }
    op->grain = grainFor(heads * products / op->items / kMaxLanes);
    op->scratch_bytes = static_cast<std::size_t>(op->thread_floats * op->threads) * sizeof(float);
  }

  static std::int64_t roundUp(std::int64_t floats) { return (floats + kMaxLanes - 1) / kMaxLanes * kMaxLanes; }
};

}  // namespace

std::unique_ptr<Kernel> makeAttentionSimd() { return std::make_unique<AttentionSimd>(); }

}  // namespace ipex_studio

#endif  // HWY_ONCE
