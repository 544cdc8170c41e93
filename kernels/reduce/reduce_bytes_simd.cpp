// Mean and sum of u8 or s8 over axes that lie before the innermost in memory (channels-last and channel-blocked images,
// rows of a matrix): bytes are summed in 16 bits, these in 32, exactly; global average pooling is the important case.
//
// Declines: dtype, mode (max, min), post-ops, empty, layout, depth (sums beyond 31 bits).
#define HWY_TARGET_INCLUDE "kernels/reduce/reduce_bytes_simd.cpp"
#include "kernels/common/simd-inl.h"

#include <algorithm>

#include "kernels/common/byte_convert-inl.h"
#include "kernels/reduce/reduce_bytes_job.h"

HWY_BEFORE_NAMESPACE();
namespace ipex_studio::HWY_NAMESPACE {

#if HWY_TARGET != HWY_SCALAR
// Sums of Lanes(d) contiguous columns; signed bytes count from -128.
template <class D>
HWY_INLINE void sumColumns(D d, const std::uint8_t* from, std::int64_t rows, std::int64_t stride, std::uint8_t flip,
                           std::uint32_t* sums) {
  const hn::Repartition<std::uint16_t, D> d16;
  const hn::Repartition<std::uint32_t, D> d32;
  constexpr std::int64_t kMaxRows = 257;  // 257 · 255 = 2^16 - 1
  const auto flips = hn::Set(d, flip);
  const auto low16 = hn::Set(d16, std::uint16_t{0xFF});
  const auto low32 = hn::Set(d32, std::uint32_t{0xFFFF});
  auto a = hn::Zero(d32), b = a, c = a, e = a;  // columns 4i, 4i + 1, …
  for (std::int64_t begin = 0; begin < rows; begin += kMaxRows) {
    const std::int64_t end = std::min(rows, begin + kMaxRows);
    auto even = hn::Zero(d16), odd = even;
    for (std::int64_t r = begin; r < end; ++r, from += stride) {
      const auto pairs = hn::BitCast(d16, hn::Xor(hn::LoadU(d, from), flips));
      even = hn::Add(even, hn::And(pairs, low16));
      odd = hn::Add(odd, hn::ShiftRight<8>(pairs));
    }
    const auto evens = hn::BitCast(d32, even), odds = hn::BitCast(d32, odd);
    a = hn::Add(a, hn::And(evens, low32));
    b = hn::Add(b, hn::And(odds, low32));
    c = hn::Add(c, hn::ShiftRight<16>(evens));
    e = hn::Add(e, hn::ShiftRight<16>(odds));
  }
  hn::StoreInterleaved4(a, b, c, e, d32, sums);
}
#endif

// Sums as many of `count` columns as one call can, at most 64; returns their number.
std::int64_t sumNextColumns(const ReduceBytesJob& job, const std::uint8_t* from, std::int64_t count,
                            std::uint32_t* sums) {
  const std::uint8_t flip = job.source == DType::kS8 ? 0x80 : 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::CappedTag<std::uint8_t, 64> d;
  const hn::CappedTag<std::uint8_t, 16> few;
  if (count >= static_cast<std::int64_t>(hn::Lanes(d))) {
    sumColumns(d, from, job.rows, job.row_stride, flip, sums);
    return static_cast<std::int64_t>(hn::Lanes(d));
  }
  if (count >= static_cast<std::int64_t>(hn::Lanes(few))) {
    sumColumns(few, from, job.rows, job.row_stride, flip, sums);
    return static_cast<std::int64_t>(hn::Lanes(few));
  }
#endif
  const std::int64_t summed = std::min<std::int64_t>(count, 64);
  std::fill(sums, sums + summed, 0u);
  for (std::int64_t r = 0; r < job.rows; ++r) {
    for (std::int64_t c = 0; c < summed; ++c) sums[c] += static_cast<std::uint8_t>(from[r * job.row_stride + c] ^ flip);
  }
  return summed;
}

void finishColumns(const ReduceBytesJob& job, const std::uint32_t* sums, std::int64_t count, void* y) {
  const hn::CappedTag<float, 16> d;
  const hn::RebindToSigned<decltype(d)> di;
  constexpr std::int64_t kMaxValues = 64;
  HWY_ALIGN float values[kMaxValues];
  const auto factor = hn::Set(d, job.factor);
  const auto zero = hn::Set(di, static_cast<std::int32_t>(job.source == DType::kS8 ? 128 * job.rows : 0));
  for (std::int64_t i = 0; i < kMaxValues; i += static_cast<std::int64_t>(hn::Lanes(d))) {
    const auto sum = hn::Sub(hn::BitCast(di, hn::LoadU(hn::RebindToUnsigned<decltype(d)>(), sums + i)), zero);
    hn::Store(hn::Mul(hn::ConvertTo(d, sum), factor), d, values + i);
  }
  downconvertValues(job.result, values, y, static_cast<std::size_t>(count));
}

// Items are pieces of all kept positions.
void runReduceBytes(const ReduceBytesJob& job, const std::uint8_t* x, char* y, std::int64_t begin, std::int64_t end) {
  const auto element = static_cast<std::int64_t>(elementBytes(job.result));
  HWY_ALIGN std::uint32_t sums[64] = {};
  for (std::int64_t item = begin; item < end; ++item) {
    const std::int64_t outer = item / job.pieces, first = item % job.pieces * job.piece_width;
    const std::int64_t last = std::min(job.inner, first + job.piece_width);
    const std::uint8_t* const from = x + job.kept.offset(0, outer, job.kept.loops());
    char* const to = y + job.kept.offset(1, outer, job.kept.loops()) * element;
    for (std::int64_t i = first, done = 0; i < last; i += done) {
      done = sumNextColumns(job, from + i, last - i, sums);
      finishColumns(job, sums, done, to + i * element);
    }
  }
}

}  // namespace ipex_studio::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "core/op/kernel.h"
#include "kernels/common/parallel.h"
#include "kernels/common/reduce_axes.h"
#include "kernels/common/requantization.h"

namespace ipex_studio {
namespace {

HWY_EXPORT(runReduceBytes);

using ReduceBytesRun = void (*)(const ReduceBytesJob&, const std::uint8_t*, char*, std::int64_t, std::int64_t);

class ReduceBytesOp final : public PreparedOp {
 public:
  ReduceBytesJob job;
  ReduceBytesRun run = nullptr;
  std::int64_t items = 0, grain = 1;
  std::int32_t threads = 1;

  void execute(ExecState*, const void* const* from, void* const* to, void*) const override {
    parallelFor(items, grain, threads, [&](std::int64_t begin, std::int64_t end, int) {
      run(job, static_cast<const std::uint8_t*>(from[0]), static_cast<char*>(to[0]), begin, end);
    });
  }
};

class ReduceBytesSimd final : public Kernel {
 public:
  const char* name() const override { return "reduce_bytes_simd"; }

  Verdict supports(const PrepareArgs& args) const override {
    const DType result = args.dst[0].dtype;
    if (!isByte(args.src[0].dtype) || (!isByte(result) && result != DType::kF32)) return Verdict::no("dtype");
    const std::string mode = args.spec.stringOr("mode", "mean");
    if (mode != "mean" && mode != "sum") return Verdict::no("mode");
    if (!args.spec.post_ops.empty()) return Verdict::no("post-ops");
    if (args.src[0].dims.count() == 0) return Verdict::no("empty");
    constexpr std::int64_t kMaxRows = (std::int64_t{1} << 31) / 256 - 1;
    return args.src[0].dims.count() / args.dst[0].dims.count() <= kMaxRows ? Verdict::yes() : Verdict::no("depth");
  }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string* reason) const override {
    *reason = "layout";
    const TensorDesc& x = args.src[0];
    const DType result = args.dst[0].dtype;
    const std::vector<bool> reduced = reducedAxes(args.spec, x.dims.rank);
    const bool keepdim = args.spec.intOr("keepdim", 0) != 0;
    TensorDesc y = contiguousDesc(result, args.dst[0].dims);
    if (x.block > 0) {
      if (reduced[1] || (!keepdim && x.dims[1] % x.block != 0)) return nullptr;
      if (keepdim) y = blockedDesc(result, y.dims, x.block);
    }
    LoopNest nest;
    if (!makeLoopNest({x, spreadResult(x, y, reduced, keepdim)}, &nest)) return nullptr;
    const int last = nest.loops() - 1;
    // Kept loops, then the one that is reduced, then what lies side by side in both.
    if (last < 1 || nest.stride[0][last] != 1 || nest.stride[1][last] != 1 || nest.stride[1][last - 1] != 0)
      return nullptr;
    auto op = std::make_unique<ReduceBytesOp>();
    ReduceBytesJob& job = op->job;
    job.kept.stride.resize(2);
    for (int loop = 0; loop < last - 1; ++loop) {
      if (nest.stride[1][loop] == 0) return nullptr;
      job.kept.size.push_back(nest.size[loop]);
      for (int tensor = 0; tensor < 2; ++tensor) job.kept.stride[tensor].push_back(nest.stride[tensor][loop]);
    }
    job.source = x.dtype;
    job.result = result;
    job.rows = nest.size[last - 1];
    job.row_stride = nest.stride[0][last - 1];
    job.inner = nest.size[last];
    job.piece_width = std::min<std::int64_t>(job.inner, 256);
    job.pieces = (job.inner + job.piece_width - 1) / job.piece_width;
    if (args.spec.stringOr("mode", "mean") == "mean")
      job.factor = static_cast<float>(1.0 / static_cast<double>(job.rows));
    op->src = {x};
    op->dst = {y};
    op->packed = {false};
    op->run = IPEX_SELECT_TARGET(runReduceBytes, args.target.isa);
    op->items = job.kept.count() * job.pieces;
    op->grain = grainFor(job.rows * job.piece_width / 16);
    op->threads = args.target.threads;
    op->flops = x.dims.count();
    return op;
  }
};

}  // namespace

std::unique_ptr<Kernel> makeReduceBytesSimd() { return std::make_unique<ReduceBytesSimd>(); }

}  // namespace ipex_studio

#endif  // HWY_ONCE
