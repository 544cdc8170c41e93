// softmax(scale · q·kᵀ + mask) · v with products of bf16 in VNNI-2 packing, sums and softmax in FP32, in tiles as
// attention_simd.cpp: the scores of a block of queries with a block of keys are in cache only, with a running maximum
// and sum per query (Milakov & Gimelshein, arXiv:1805.02867; Dao et al., FlashAttention, arXiv:2205.14135).
//
// Keys are the lanes of vectors: a head's keys are packed once (VNNI-2) in pairs along depth, its values in pairs of
// keys, and rows of queries are read as scalars. A row of scores becomes a row of bf16 weights in its own place.
// Sources may be f32 or bf16, which are rounded while they are packed. Few queries go one by one in FP32: reading keys
// and values is all their cost.
//
// Taken where a source is bf16 or the spec says products=bf16. Declines: dtype, empty, layout, post-ops, precision.
#define HWY_TARGET_INCLUDE "kernels/attention/attention_bf16.cpp"
#include "kernels/common/simd-inl.h"

#include <algorithm>
#include <limits>

#include "kernels/attention/attention_job.h"
#include "kernels/attention/attention_rows-inl.h"
#include "kernels/attention/attention_tile-inl.h"
#include "kernels/attention/attention_vnni2-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ipex_studio::HWY_NAMESPACE {

using Vnni2Run = void (*)(const Vnni2Tile& tile);

// Panels by width in vectors: rows that the registers take, and the code for each number of rows.
struct Vnni2Kind {
  int max_rows = 0;
  Vnni2Run run[13] = {};
};

template <bool kNative, int kRows, int kVectors>
constexpr void fillVnni2Rows(Vnni2Kind* kind) {
  kind->run[kRows] = &multiplyVnni2<kNative, kRows, kVectors>;
  if constexpr (kRows > 1) fillVnni2Rows<kNative, kRows - 1, kVectors>(kind);
}

template <bool kNative, int kRows, int kVectors>
constexpr Vnni2Kind vnni2Kind() {
  Vnni2Kind kind;
  kind.max_rows = kRows;
  fillVnni2Rows<kNative, kRows, kVectors>(&kind);
  return kind;
}

constexpr std::int64_t kPanelVectors = kMaxVectors;

template <bool kNative>
const Vnni2Kind& vnni2KindOf(std::int64_t vectors) {
#if HWY_TARGET <= HWY_AVX3
  // Halves take twice the registers of pairs.
  static constexpr Vnni2Kind kKinds[] = {vnni2Kind<kNative, 12, 1>(),
                                         vnni2Kind < kNative,
                                         kNative ? 12 : 10,
                                         2 > (),
                                         vnni2Kind < kNative,
                                         kNative ? 8 : 6,
                                         3 > (),
                                         vnni2Kind < kNative,
                                         kNative ? 6 : 4,
                                         4 > ()};
#else
  static constexpr Vnni2Kind kKinds[] = {vnni2Kind<kNative, 8, 1>(), vnni2Kind<kNative, 4, 2>()};
#endif
  return kKinds[vectors - 1];
}

// One thread's work on blocks of queries, one head after the other.
template <bool kNative>
class Vnni2Blocks {
 public:
  Vnni2Blocks(const AttentionJob& job, float* scratch)
      : job_(job), room_(job), lanes_(static_cast<std::int64_t>(hn::Lanes(F32()))) {
    const auto units = [&](std::int64_t count) {
      float* const at = scratch;
      scratch += AttentionRoom::whole(count);
      return at;
    };
    keys_ = reinterpret_cast<std::uint32_t*>(units(room_.keyUnits()));
    values_ = reinterpret_cast<std::uint32_t*>(units(room_.valueUnits()));
    queries_ = reinterpret_cast<std::uint32_t*>(units(room_.queryUnits()));
    temp_ = reinterpret_cast<std::uint32_t*>(units(room_.tempUnits()));
    scores_ = units(room_.scoreFloats());
    result_ = units(room_.resultFloats());
    highest_ = units(job.block_rows);
    top_ = units(job.block_rows);
    sum_ = units(job.block_rows);
    factor_ = units(job.block_rows);
  }

  void pack(const AttentionOperands& at) {
    if (job_.k_type == DType::kBf16)
      packKeys(static_cast<const std::uint16_t*>(at.k));
    else
      packKeys(static_cast<const float*>(at.k));
    if (job_.v_type == DType::kBf16)
      packValues(static_cast<const std::uint16_t*>(at.v));
    else
      packValues(static_cast<const float*>(at.v));
  }

  // Computes queries [first, first + count) of the head that was packed last.
  void run(const AttentionOperands& at, std::int64_t first, std::int64_t count) {
    if (job_.q_type == DType::kBf16)
      packQueries(static_cast<const std::uint16_t*>(at.q), first, count);
    else
      packQueries(static_cast<const float*>(at.q), first, count);
    const std::int64_t keys = job_.causal ? std::min(job_.keys, first + count) : job_.keys;
    std::fill(highest_, highest_ + count, kNothing);
    std::fill(sum_, sum_ + count, 0.0f);
    std::fill(factor_, factor_ + count, 0.0f);
    for (std::int64_t begin = 0; begin < keys; begin += job_.key_block) {
      const std::int64_t size = std::min(job_.key_block, keys - begin);
      const std::int64_t computed = score(begin, size, count);
      // Two passes, so that the search along one row does not wait for the work on another.
      for (std::int64_t row = 0; row < count; ++row) findHighest(at, first + row, row, begin, size, computed);
      for (std::int64_t row = 0; row < count; ++row) weigh(row, computed);
      accumulate(begin, size, count);
    }
    for (std::int64_t row = 0; row < count; ++row) finish(at, first + row, row);
  }

 private:
  static constexpr float kNothing = -std::numeric_limits<float>::infinity(), kLog2E = 1.44269504088896341f;

  // Calls fn(first column, columns) for each panel of `columns`, which are whole vectors.
  template <class Fn>
  void forPanels(std::int64_t columns, const Fn& fn) const {
    const std::int64_t vectors = columns / lanes_, panels = (vectors + kPanelVectors - 1) / kPanelVectors;
    for (std::int64_t p = 0; p < panels; ++p) {
      const std::int64_t first = vectors * p / panels;
      fn(first * lanes_, (vectors * (p + 1) / panels - first) * lanes_);
    }
  }

  std::int64_t blockColumns(std::int64_t begin) const { return std::min(job_.key_block, room_.columns() - begin); }

  template <class T>
  void packKeys(const T* k) {
    for (std::int64_t begin = 0; begin < job_.keys; begin += job_.key_block) {
      forPanels(blockColumns(begin), [&](std::int64_t first, std::int64_t columns) {
        const std::int64_t key = begin + first;
        packKeysVnni2(k + key * job_.k.row, job_.k, job_.keys - key, columns, job_.depth, temp_,
                      keys_ + key * room_.steps());
      });
    }
  }

  template <class T>
  void packValues(const T* v) {
    forPanels(room_.width(), [&](std::int64_t first, std::int64_t columns) {
      packValuesVnni2(v + first * job_.v.column, job_.v, job_.keys, std::min(columns, job_.width - first), columns,
                      values_ + first * room_.keyPairs());
    });
  }

  template <class T>
  void packQueries(const T* q, std::int64_t first, std::int64_t count) {
    for (std::int64_t row = 0; row < count; ++row) {
      packRowVnni2(q + (first + row) * job_.q.row, job_.q.column, job_.depth, queries_ + row * room_.steps());
    }
  }

  // Computes rows [0, count) of a product, as many at once as the registers take; at(row, tile) points the tile to its
  // rows.
  template <class Fn>
  void multiply(std::int64_t columns, std::int64_t count, Vnni2Tile tile, const Fn& at) const {
    const Vnni2Kind& kind = vnni2KindOf<kNative>(columns / lanes_);
    const std::int64_t tiles = (count + kind.max_rows - 1) / kind.max_rows;
    for (std::int64_t t = 0; t < tiles; ++t) {
      const std::int64_t row = count * t / tiles, rows = count * (t + 1) / tiles - row;
      at(row, &tile);
      kind.run[rows](tile);
    }
  }

  // scores_[query][key] = scale · q·k. Returns the number of keys computed, which are whole panels.
  std::int64_t score(std::int64_t begin, std::int64_t size, std::int64_t count) {
    std::int64_t computed = 0;
    forPanels(blockColumns(begin), [&](std::int64_t first, std::int64_t columns) {
      if (first >= size) return;
      computed = first + columns;
      Vnni2Tile tile;
      tile.a_stride = tile.steps = room_.steps();
      tile.b = keys_ + (begin + first) * room_.steps();
      tile.c_stride = job_.key_block;
      tile.factor = job_.scale;
      multiply(columns, count, tile, [&](std::int64_t row, Vnni2Tile* t) {
        t->a = queries_ + row * room_.steps();
        t->c = scores_ + row * job_.key_block + first;
      });
    });
    return computed;
  }

  // Finds the highest score of a row so far, its mask applied; earlier sums must be scaled by factor_.
  void findHighest(const AttentionOperands& at, std::int64_t query, std::int64_t row, std::int64_t begin,
                   std::int64_t size, std::int64_t computed) {
    float* const scores = scores_ + row * job_.key_block;
    if (job_.has_mask) mask(at.mask + query * job_.mask.row + begin * job_.mask.column, size, scores);
    const std::int64_t seen = job_.causal ? std::clamp<std::int64_t>(query + 1 - begin, 0, size) : size;
    std::fill(scores + seen, scores + computed, kNothing);
    const F32 d;
    VF most = hn::Load(d, scores);
    for (std::int64_t i = lanes_; i < computed; i += lanes_) most = hn::Max(hn::Load(d, scores + i), most);
    const VF before = hn::Set(d, highest_[row]), highest = hn::Max(before, hn::MaxOfLanes(d, most));
    // The scores of a query without any key so far are all -inf. Subtracting 0 instead of -inf gives them the weight 0,
    // not NaN.
    const VF top = hn::IfThenElse(hn::Eq(highest, hn::Set(d, kNothing)), hn::Zero(d), highest);
    highest_[row] = hn::GetLane(highest);
    top_[row] = hn::GetLane(top);
    if (begin > 0) factor_[row] = hn::GetLane(powerOfTwo(hn::Mul(hn::Sub(before, top), hn::Set(d, kLog2E))));
  }

  // Replaces one row of scores by its weights in bf16.
  void weigh(std::int64_t row, std::int64_t computed) {
    const F32 d;
    const float* const scores = scores_ + row * job_.key_block;
    auto* const pairs = reinterpret_cast<std::uint16_t*>(scores_ + row * job_.key_block);
    const VF top = hn::Set(d, top_[row]), unit = hn::Set(d, kLog2E);
    const auto weight = [&](std::int64_t i) {
      return powerOfTwo(hn::Mul(hn::Sub(hn::Load(d, scores + i), top), unit));
    };
    VF even = hn::Zero(d), odd = hn::Zero(d);
    std::int64_t i = 0;
    for (; i + 2 * lanes_ <= computed; i += 2 * lanes_) {
      const VF low = weight(i), high = weight(i + lanes_);
      even = hn::Add(even, low);
      odd = hn::Add(odd, high);
      storeVnni2<kNative>(low, high, pairs + i);
    }
    if (i < computed) {
      const VF low = weight(i);
      even = hn::Add(even, low);
      storeVnni2<kNative>(low, hn::Zero(d), pairs + i);
    }
    sum_[row] = sum_[row] * factor_[row] + hn::GetLane(hn::SumOfLanes(d, hn::Add(even, odd)));
  }

  void mask(const float* mask, std::int64_t size, float* scores) const {
    const F32 d;
    std::int64_t key = 0;
    if (job_.mask.column == 1) {
      for (; key + lanes_ <= size; key += lanes_)
        hn::Store(maskedScore(job_, hn::Load(d, scores + key), hn::LoadU(d, mask + key)), d, scores + key);
    }
    for (; key < size; ++key)
      scores[key] = hn::GetLane(maskedScore(job_, hn::Set(d, scores[key]), hn::Set(d, mask[key * job_.mask.column])));
  }

  // result_[query][column] = factor · result_ + weights · v.
  void accumulate(std::int64_t begin, std::int64_t size, std::int64_t count) {
    forPanels(room_.width(), [&](std::int64_t first, std::int64_t columns) {
      Vnni2Tile tile;
      tile.a_stride = job_.key_block;
      tile.steps = (size + 1) / 2;
      tile.b = values_ + first * room_.keyPairs() + begin / 2 * columns;
      tile.c_stride = room_.width();
      multiply(columns, count, tile, [&](std::int64_t row, Vnni2Tile* t) {
        t->a = reinterpret_cast<const std::uint32_t*>(scores_ + row * job_.key_block);
        t->c = result_ + row * room_.width() + first;
        t->row_factor = begin == 0 ? nullptr : factor_ + row;
      });
    });
  }

  void finish(const AttentionOperands& at, std::int64_t query, std::int64_t row) {
    const F32 d;
    const VF inverse = hn::Set(d, 1.0f / sum_[row]);
    float* const values = result_ + row * room_.width();
    const auto value = [&](std::int64_t c) { return hn::Mul(hn::Load(d, values + c), inverse); };
    if (job_.y_type == DType::kBf16 && job_.width % (2 * lanes_) == 0) {
      auto* const to = static_cast<std::uint16_t*>(resultRow(job_, at, query));
      for (std::int64_t c = 0; c < job_.width; c += 2 * lanes_)
        storeVnni2<kNative>(value(c), value(c + lanes_), to + c);
      return;
    }
    for (std::int64_t c = 0; c < room_.width(); c += lanes_) hn::Store(value(c), d, values + c);
    storeResult(job_, values, resultRow(job_, at, query));
  }

  const AttentionJob& job_;
  const AttentionRoom room_;
  const std::int64_t lanes_;
  std::uint32_t *keys_, *values_, *queries_, *temp_;
  float *scores_, *result_, *highest_, *top_, *sum_, *factor_;
};

// Items are blocks of queries; the blocks of one head are neighbours.
template <bool kNative>
void runVnni2Blocks(const AttentionJob& job, const AttentionOperands& all, std::int64_t begin, std::int64_t end,
                    float* scratch) {
  Vnni2Blocks<kNative> blocks(job, scratch);
  std::int64_t packed = -1;
  for (std::int64_t item = begin; item < end; ++item) {
    const std::int64_t head = item / job.blocks, part = item % job.blocks;
    const AttentionOperands at = operandsOfHead(job, all, head);
    if (head != packed) blocks.pack(at);
    packed = head;
    const std::int64_t first = job.queries * part / job.blocks;
    blocks.run(at, first, job.queries * (part + 1) / job.blocks - first);
  }
}

template <class Q, class K>
AttentionRun rowsByValues(DType v) {
  return v == DType::kBf16 ? &attendRows<Q, K, std::uint16_t> : &attendRows<Q, K, float>;
}

template <class Q>
AttentionRun rowsByKeys(DType k, DType v) {
  return k == DType::kBf16 ? rowsByValues<Q, std::uint16_t>(v) : rowsByValues<Q, float>(v);
}

AttentionRun rowsOfTypes(DType q, DType k, DType v) {
  return q == DType::kBf16 ? rowsByKeys<std::uint16_t>(k, v) : rowsByKeys<float>(k, v);
}

AttentionRun vnni2Blocks(bool native) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
  return native ? &runVnni2Blocks<true> : &runVnni2Blocks<false>;
#else
  static_cast<void>(native);
  return &runVnni2Blocks<false>;
#endif
}

}  // namespace ipex_studio::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "core/op/kernel.h"
#include "kernels/attention/attention_op.h"
#include "kernels/common/bf16_products.h"

namespace ipex_studio {
namespace {

HWY_EXPORT(rowsOfTypes);
HWY_EXPORT(vnni2Blocks);

class AttentionBf16 final : public Kernel {
 public:
  const char* name() const override { return "attention_simd_bf16"; }

  Verdict supports(const PrepareArgs& args) const override {
    const Verdict verdict =
        takesAttention(args, [](DType dtype) { return dtype == DType::kF32 || dtype == DType::kBf16; });
    if (!verdict.ok) return verdict;
    const auto isBf16 = [&](std::size_t s) { return args.src[s].dtype == DType::kBf16; };
    const bool wanted = args.spec.stringOr("products", "f32") == "bf16" || isBf16(0) || isBf16(1) || isBf16(2);
    return wanted ? Verdict::yes() : Verdict::no("precision");
  }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string* reason) const override {
    std::unique_ptr<AttentionOp> op = describedAttention(args, reason);
    if (op) choose(args, op.get());
    return op;
  }

 private:
  static void choose(const PrepareArgs& args, AttentionOp* op) {
    AttentionJob& job = op->job;
    const std::int64_t heads = job.heads.count();
    if (attendsRowByRow(job)) {
      op->run = IPEX_SELECT_TARGET(rowsOfTypes, args.target.isa)(job.q_type, job.k_type, job.v_type);
      op->items = heads * job.queries;
      op->thread_floats = attentionRowFloats(job);
    } else {
      AttentionRoom::plan(&job);
      op->run = IPEX_SELECT_TARGET(vnni2Blocks, args.target.isa)(mayUseBf16Products(args.target.isa));
      op->items = heads * job.blocks;
      op->thread_floats = AttentionRoom(job).floats();
    }
    constexpr std::int64_t kVnni2Lanes = 32;
    divideAttention(op, kVnni2Lanes);
  }
};

}  // namespace

std::unique_ptr<Kernel> makeAttentionBf16() { return std::make_unique<AttentionBf16>(); }

}  // namespace ipex_studio

#endif  // HWY_ONCE
