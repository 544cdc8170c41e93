// y = x·wᵀ of FP32 or BF16 rows and weights of 8 or 4 bits, with a scale per group of them or per channel in the chain
// (core/op/woq_weights.h). A few rows read each weight once, straight from the model's own memory, and upconvert it in
// registers: such a product is bound by reading the weights, which are a quarter or an eighth of those in FP32. Of many
// rows each thread upconverts some channels at a time into a tile that its cache holds, so no copy in FP32 is kept. w
// is read as a few long streams, as in gemv_simd.cpp. Sums are in FP32. Post-operations follow as one pointwise pass.
//
// Declines: dtype, dynamic, empty, weights-layout, rows (many, of constant weights: upconverted once and for all they
// are multiplied faster, linear_upconverted_weights.cpp), and what the pointwise kernel declines.
#define HWY_TARGET_INCLUDE "kernels/gemm/linear_woq_simd.cpp"
#include "kernels/common/simd-inl.h"

#include <algorithm>
#include <cstring>

#include "core/op/woq_weights.h"
#include "kernels/common/byte_convert-inl.h"
#include "kernels/gemm/linear_woq_job.h"

HWY_BEFORE_NAMESPACE();
namespace ipex_studio::HWY_NAMESPACE {

using VU = hn::Vec<hn::RebindToUnsigned<F32>>;

// Nibbles of even levels are computed, levels looked up: all sixteen where a vector holds them, one by one elsewhere.
enum class WoqFormat { kFloats, kBytes, kScaledBytes, kScaledNibbles, kScaledLevels };
constexpr bool kVectorHoldsLevels = HWY_TARGET <= HWY_AVX3;

// Sums of kRows · kStreams fit the registers beside their operands: 32 registers with AVX-512, otherwise 16.
constexpr int woqStreams(int rows) { return rows <= 2 || HWY_TARGET <= HWY_AVX3 ? 4 : 2; }

// The weights of one row of a group.
template <WoqFormat kFormat>
struct WoqRow {
  const char* bytes = nullptr;
  const float* levels = nullptr;  // kScaledLevels
  VF factor;

  // A vector of weights from weight `k` on.
  HWY_INLINE VF at(std::int64_t k) const {
    const F32 d;
    if constexpr (kFormat == WoqFormat::kFloats) return hn::LoadU(d, reinterpret_cast<const float*>(bytes) + k);
    return scaled(loadBytes(d, reinterpret_cast<const std::int8_t*>(bytes) + k));
  }

  // The `count` weights from weight `k` on, zeros after them; reads nothing beyond.
  HWY_INLINE VF rest(std::int64_t k, std::int64_t count) const {
    const F32 d;
    if constexpr (kFormat == WoqFormat::kFloats) return at(k);  // tiles are filled up
    HWY_ALIGN std::int8_t some[hn::MaxLanes(d)] = {};
    std::memcpy(some, bytes + k, static_cast<std::size_t>(count));
    return scaled(loadBytes(d, some));
  }

  HWY_INLINE VF scaled(VF weights) const {
    if constexpr (kFormat == WoqFormat::kScaledBytes) return hn::Mul(weights, factor);
    return weights;
  }

  HWY_INLINE VF level(VU nibbles) const {
    const F32 d;
    const hn::RebindToSigned<F32> di;
    if constexpr (kFormat == WoqFormat::kScaledNibbles) {
      const auto signed_level = hn::Sub(hn::BitCast(di, nibbles), hn::Set(di, static_cast<std::int32_t>(kNibbleZero)));
      return hn::Mul(hn::ConvertTo(d, signed_level), factor);
    } else if constexpr (kVectorHoldsLevels) {
      return hn::TableLookupLanes(factor, hn::IndicesFromVec(d, nibbles));  // scaled already
    } else {
      return hn::Mul(hn::GatherIndex(d, levels, hn::BitCast(di, nibbles)), factor);
    }
  }

  HWY_INLINE void setScale(float scale) {
    const F32 d;
    factor = hn::Set(d, scale);
    if constexpr (kFormat == WoqFormat::kScaledLevels && kVectorHoldsLevels)
      factor = hn::Mul(factor, hn::LoadU(d, levels));
  }
};

// Calls use(stream, k, weights) for all weights of [begin, end) of each row, vector by vector. Groups begin at
// multiples of kNibbleBlock.
template <WoqFormat kFormat, int kStreams, class Use>
HWY_INLINE void forEachVector(const WoqRow<kFormat> (&rows)[kStreams], std::int64_t begin, std::int64_t end,
                              const Use& use) {
  const F32 d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  if constexpr (kFormat == WoqFormat::kScaledNibbles || kFormat == WoqFormat::kScaledLevels) {
    const hn::RebindToUnsigned<F32> du;
    const hn::Rebind<std::uint8_t, F32> bytes;
    constexpr std::int64_t kHalf = kNibbleBlock / 2;
    for (std::int64_t k = begin; k < end; k += kNibbleBlock) {
      for (std::int64_t i = 0; i < kHalf; i += lanes) {
        VU both[kStreams];
#pragma GCC unroll 4
        for (int s = 0; s < kStreams; ++s) {
          both[s] =
              hn::PromoteTo(du, hn::LoadU(bytes, reinterpret_cast<const std::uint8_t*>(rows[s].bytes) + k / 2 + i));
        }
#pragma GCC unroll 4
        for (int s = 0; s < kStreams; ++s) use(s, k + i, rows[s].level(hn::And(both[s], hn::Set(du, 15))));
#pragma GCC unroll 4
        for (int s = 0; s < kStreams; ++s) use(s, k + kHalf + i, rows[s].level(hn::ShiftRight<4>(both[s])));
      }
    }
  } else {
    std::int64_t k = begin;
    for (; k + lanes <= end; k += lanes) {
#pragma GCC unroll 4
      for (int s = 0; s < kStreams; ++s) use(s, k, rows[s].at(k));
    }
    if (k >= end) return;
#pragma GCC unroll 4
    for (int s = 0; s < kStreams; ++s) use(s, k, rows[s].rest(k, end - k));
  }
}

// Calls use(stream, k, weights), group after group, for all weights of kStreams rows of w that lie `distance` rows
// apart.
template <WoqFormat kFormat, int kStreams, class Use>
HWY_INLINE void walkRows(const WoqJob& job, const void* w, const float* scales, std::int64_t distance, const Use& use) {
  WoqRow<kFormat> rows[kStreams];
#pragma GCC unroll 4
  for (int s = 0; s < kStreams; ++s) {
    rows[s].bytes = static_cast<const char*>(w) + s * distance * job.w_stride;
    if constexpr (kFormat == WoqFormat::kScaledLevels) rows[s].levels = job.levels->data();
  }
  if constexpr (kFormat == WoqFormat::kFloats || kFormat == WoqFormat::kBytes) {
    forEachVector(rows, 0, job.depth, use);
  } else {
    for (std::int64_t g = 0; g < job.groups; ++g) {
#pragma GCC unroll 4
      for (int s = 0; s < kStreams; ++s) rows[s].setScale(scales[s * distance * job.groups + g]);
      forEachVector(rows, g * job.group, std::min((g + 1) * job.group, job.depth), use);
    }
  }
}

// Computes kRows rows of x times kStreams rows of w.
template <WoqFormat kFormat, int kRows, int kStreams>
HWY_INLINE void multiplyWoq(const WoqJob& job, const float* x, const void* w, const float* scales, const float* bias,
                            float* y, std::int64_t distance) {
  const F32 d;
  VF sum[kStreams][kRows];
  for (auto& stream : sum) {
    for (VF& value : stream) value = hn::Zero(d);
  }
  walkRows<kFormat, kStreams>(
      job, w, scales, distance, [&](int s, std::int64_t k, VF weights) HWY_ATTR __attribute__((always_inline)) {
#pragma GCC unroll 4
        for (int r = 0; r < kRows; ++r)
          sum[s][r] = hn::MulAdd(weights, hn::LoadU(d, x + r * job.x_stride + k), sum[s][r]);
      });
#pragma GCC unroll 4
  for (int s = 0; s < kStreams; ++s) {
    const float offset = bias != nullptr ? bias[s * distance] : 0.0f;
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r)
      y[r * job.columns + s * distance] = hn::GetLane(hn::SumOfLanes(d, sum[s][r])) + offset;
  }
}

template <WoqFormat kFormat>
struct WoqColumns {
  const WoqJob& job;
  const WoqCall& call;
  const void* weights;  // of column `first`
  std::int64_t first;   // kFloats: weights are a tile that begins there; else 0

  HWY_INLINE const void* row(std::int64_t n) const {
    return static_cast<const char*>(weights) + (n - first) * job.w_stride;
  }
  HWY_INLINE const float* scale(std::int64_t n) const {
    return call.scales != nullptr ? call.scales + n * job.groups : nullptr;
  }
  HWY_INLINE const float* bias(std::int64_t n) const { return call.bias != nullptr ? call.bias + n : nullptr; }

  template <int kRows, int kStreams>
  HWY_INLINE void multiply(std::int64_t r, std::int64_t n, std::int64_t distance) const {
    multiplyWoq<kFormat, kRows, kStreams>(job, call.x + r * job.x_stride, row(n), scale(n), bias(n),
                                          call.y + r * job.columns + n, distance);
  }

  // Computes all rows of x in bundles of four, two, one. The weights of a later bundle are still in the first cache.
  template <int kStreams4, int kStreams2>
  HWY_INLINE void allRows(std::int64_t n, std::int64_t distance) const {
    std::int64_t r = 0;
    for (; r + 4 <= job.rows; r += 4) {
      multiply<4, kStreams4>(r, n, distance);
      if constexpr (kStreams4 < kStreams2) multiply<4, kStreams2 - kStreams4>(r, n + kStreams4 * distance, distance);
    }
    if (r + 2 <= job.rows) {
      multiply<2, kStreams2>(r, n, distance);
      r += 2;
    }
    if (r < job.rows) multiply<1, kStreams2>(r, n, distance);
  }

  void run(std::int64_t begin, std::int64_t end) const {
    constexpr int kStreams = woqStreams(1);
    const std::int64_t distance = (end - begin) / kStreams;
    for (std::int64_t n = begin; n < begin + distance; ++n) allRows<woqStreams(4), kStreams>(n, distance);
    for (std::int64_t n = begin + distance * kStreams; n < end; ++n) allRows<1, 1>(n, 0);
  }
};

template <WoqFormat kFormat>
void upconvertRows(const WoqJob& job, const WoqCall& call, std::int64_t begin, std::int64_t end, std::int64_t stride,
                   float* tile) {
  const F32 d;
  for (std::int64_t n = begin; n < end; ++n) {
    float* const to = tile + (n - begin) * stride;
    const void* const from = static_cast<const char*>(call.weights) + n * job.w_stride;
    const float* const scales = call.scales != nullptr ? call.scales + n * job.groups : nullptr;
    walkRows<kFormat, 1>(
        job, from, scales, 0, [&](int, std::int64_t k, VF weights) HWY_ATTR __attribute__((always_inline)) {
          hn::StoreU(weights, d, to + k);
        });
  }
}

template <WoqFormat kFormat>
void runColumns(const WoqJob& job, const WoqCall& call, float* tile, std::int64_t begin, std::int64_t end) {
  if (job.tile_columns == 0) {
    WoqColumns<kFormat>{job, call, call.weights, 0}.run(begin, end);
    return;
  }
  WoqJob wide = job;
  const std::int64_t stride = (job.depth + kNibbleBlock - 1) / kNibbleBlock * kNibbleBlock;
  wide.w_stride = stride * static_cast<std::int64_t>(sizeof(float));
  for (std::int64_t n = begin; n < end; n += job.tile_columns) {
    const std::int64_t last = std::min(n + job.tile_columns, end);
    upconvertRows<kFormat>(job, call, n, last, stride, tile);
    WoqColumns<WoqFormat::kFloats>{wide, call, tile, n}.run(n, last);
  }
}

// Computes columns [begin, end) of y. `tile`: memory for tile_columns rows of upconverted weights.
void runWoq(const WoqJob& job, const WoqCall& call, float* tile, std::int64_t begin, std::int64_t end) {
  if (job.levels != nullptr) {
    if constexpr (!kVectorHoldsLevels) {
      if (job.levels == &kEvenLevels) return runColumns<WoqFormat::kScaledNibbles>(job, call, tile, begin, end);
    }
    return runColumns<WoqFormat::kScaledLevels>(job, call, tile, begin, end);
  }
  if (job.group != 0) return runColumns<WoqFormat::kScaledBytes>(job, call, tile, begin, end);
  runColumns<WoqFormat::kBytes>(job, call, tile, begin, end);
}

// Copies rows [begin, end) of x as floats, zeros behind each.
void copyRows(const WoqJob& job, DType dtype, const void* from, std::int64_t from_stride, float* to, std::int64_t begin,
              std::int64_t end) {
  const auto bytes = static_cast<std::int64_t>(elementBytes(dtype));
  for (std::int64_t r = begin; r < end; ++r) {
    float* const row = to + r * job.x_stride;
    upconvertValues(dtype, static_cast<const char*>(from) + r * from_stride * bytes, row,
                    static_cast<std::size_t>(job.depth));
    std::fill(row + job.depth, row + job.x_stride, 0.0f);
  }
}

}  // namespace ipex_studio::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "kernels/common/kernel_parts.h"
#include "kernels/common/matrix_rows.h"
#include "kernels/common/parallel.h"
#include "kernels/common/pointwise_tail.h"

namespace ipex_studio {
namespace {

HWY_EXPORT(runWoq);
HWY_EXPORT(copyRows);

constexpr int kLowPrecisionSrc = 0, kWoqWeights = 1, kWoqThird = 2, kLowPrecisionFirstOperand = 3;
// Up to this many rows each bundle of rows upconverts the weights for itself.
constexpr std::int64_t kRowsWithoutTile = 16;
// From this many rows on the time of reading weights is negligible.
constexpr std::int64_t kManyRows = 16;
constexpr std::int64_t kTileBytes = 128 * 1024;  // half of a small second cache

std::size_t inLines(std::int64_t bytes) { return static_cast<std::size_t>((bytes + 63) / 64 * 64); }

class WoqOp final : public PreparedOp {
 public:
  using Run = void (*)(const WoqJob&, const WoqCall&, float*, std::int64_t, std::int64_t);
  using Copy = void (*)(const WoqJob&, DType, const void*, std::int64_t, float*, std::int64_t, std::int64_t);

  WoqJob job;
  Run run = nullptr;
  Copy copy = nullptr;
  bool copies = false;                                         // x into scratch memory
  std::int64_t from_stride = 0;                                // row stride of x as it is given
  std::size_t tail_bytes = 0, copy_bytes = 0, tile_bytes = 0;  // of scratch memory, in this order; tiles one per thread
  std::int64_t grain = 1;                                      // columns
  std::int32_t threads = 1;
  PointwiseTail tail;

  std::unique_ptr<ExecState> newState() const override { return tail.newState(); }

  void execute(ExecState* state, const void* const* from, void* const* to, void* scratch) const override {
    char* const own = static_cast<char*>(scratch) + tail_bytes;
    WoqCall call;
    call.x = static_cast<const float*>(from[kLowPrecisionSrc]);
    call.weights = from[kWoqWeights];
    const auto* const third = src[kWoqThird].absent() ? nullptr : static_cast<const float*>(from[kWoqThird]);
    (job.group != 0 ? call.scales : call.bias) = third;
    call.y = tail.product(to[0], scratch);
    if (copies) {
      auto* const rows = reinterpret_cast<float*>(own);
      parallelFor(job.rows, grainFor(job.depth / 4), threads, [&](std::int64_t begin, std::int64_t end, int) {
        copy(job, src[kLowPrecisionSrc].dtype, from[kLowPrecisionSrc], from_stride, rows, begin, end);
      });
      call.x = rows;
    }
    parallelFor(job.columns, grain, threads, [&](std::int64_t begin, std::int64_t end, int thread) {
      auto* const tile = reinterpret_cast<float*>(own + copy_bytes + static_cast<std::size_t>(thread) * tile_bytes);
      run(job, call, tile, begin, end);
    });
    tail.execute(state, from, to, scratch);
  }
};

class LinearWoq final : public Kernel {
 public:
  explicit LinearWoq(const Kernel* pointwise) : pointwise_(pointwise) {}

  const char* name() const override { return "linear_woq_simd"; }

  Verdict supports(const PrepareArgs& args) const override {
    const TensorDesc &x = args.src[kLowPrecisionSrc], &w = args.src[kWoqWeights], &third = args.src[kWoqThird];
    const bool four_bits = args.spec.intOr("bits", 8) == 4;
    const bool floats = x.dtype == DType::kF32 || x.dtype == DType::kBf16;
    if (!floats || w.dtype != (four_bits ? DType::kU8 : DType::kS8)) return Verdict::no("dtype");
    if (!third.absent() && third.dtype != DType::kF32) return Verdict::no("dtype");
    if (args.spec.intOr("dynamic", 0) != 0) return Verdict::no("dynamic");
    if (x.dims.count() == 0 || args.dst[0].dims.count() == 0) return Verdict::no("empty");
    if (!w.isContiguous()) return Verdict::no("weights-layout");
    const bool scales_known = !args.spec.has("group") || args.constant[kWoqThird] != nullptr;
    const bool elsewhere = x.dtype == DType::kF32 && args.dst[0].dtype == DType::kF32 &&
                           args.constant[kWoqWeights] != nullptr && scales_known;
    return elsewhere && rowsOf(x.dims) > kManyRows ? Verdict::no("rows") : Verdict::yes();
  }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string* reason) const override {
    auto op = std::make_unique<WoqOp>();
    op->src = args.src;
    op->packed.assign(args.src.size(), false);
    if (!op->tail.prepare(*pointwise_, args, kLowPrecisionFirstOperand, op.get(), reason)) return nullptr;
    bool as_given = false;
    const TensorDesc matrix = asMatrix(args.src[kLowPrecisionSrc], &as_given);
    if (!as_given) op->src[kLowPrecisionSrc] = contiguousDesc(matrix.dtype, args.src[kLowPrecisionSrc].dims);
    const TensorDesc& third = args.src[kWoqThird];
    if (!third.absent()) op->src[kWoqThird] = contiguousDesc(DType::kF32, third.dims);
    op->from_stride = matrix.strides[0];
    describe(args, matrix, op.get());
    op->run = IPEX_SELECT_TARGET(runWoq, args.target.isa);
    op->copy = IPEX_SELECT_TARGET(copyRows, args.target.isa);
    op->flops = 2 * args.dst[0].dims.count() * op->job.depth;
    return op;
  }

 private:
  static void describe(const PrepareArgs& args, const TensorDesc& matrix, WoqOp* op) {
    const TensorDesc& w = args.src[kWoqWeights];
    WoqJob& job = op->job;
    job.columns = w.dims[0];
    job.rows = args.dst[0].dims.count() / job.columns;
    job.depth = matrix.dims[1];
    if (args.spec.intOr("bits", 8) == 4) job.levels = nibbleLevels(args.spec);
    job.group = args.spec.intOr("group", 0);
    job.groups = job.group == 0 ? 0 : groupCount(job.depth, job.group);
    job.w_stride = w.dims[1];
    const std::int64_t filled = (job.depth + kNibbleBlock - 1) / kNibbleBlock * kNibbleBlock;
    op->copies = matrix.dtype != DType::kF32 || filled != job.depth;
    job.x_stride = op->copies ? filled : matrix.strides[0];
    const std::int64_t row_bytes = filled * static_cast<std::int64_t>(sizeof(float));
    if (job.rows > kRowsWithoutTile) job.tile_columns = std::clamp<std::int64_t>(kTileBytes / row_bytes / 4 * 4, 4, 64);
    op->threads = args.target.threads;
    // The cost is bytes read for a few rows and multiplications for many, eight of either at once.
    op->grain = std::max(grainFor(job.depth * job.rows / 8), job.tile_columns);
    op->tail_bytes = inLines(static_cast<std::int64_t>(op->scratch_bytes));
    op->copy_bytes = op->copies ? inLines(job.rows * row_bytes) : 0;
    op->tile_bytes = inLines(job.tile_columns * row_bytes);
    op->scratch_bytes = op->tail_bytes + op->copy_bytes + static_cast<std::size_t>(op->threads) * op->tile_bytes;
  }

  const Kernel* pointwise_;
};

}  // namespace

std::unique_ptr<Kernel> makeLinearWoq(const KernelParts& parts) { return std::make_unique<LinearWoq>(parts.first); }

}  // namespace ipex_studio

#endif  // HWY_ONCE
