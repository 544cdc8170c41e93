// Running sums of f32 along the last axis, in double precision. The sums within a vector take log2(lanes) additions and
// do not wait for the vector before it, so a line waits for one addition per vector, not for one per value (D. Hillis,
// G. Steele, Data parallel algorithms, 1986).
//
// Declines: dtype, post-ops, layout (not row-major), inner-axis, short-lines.
#define HWY_TARGET_INCLUDE "kernels/reduce/cumulative_sum_simd.cpp"
#include "kernels/common/simd-inl.h"

#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace ipex_studio::HWY_NAMESPACE {

using F64 = hn::ScalableTag<double>;
using VD = hn::Vec<F64>;

// Adds to each lane all lanes before it.
HWY_INLINE VD sumsWithin(VD v) {
#if HWY_TARGET != HWY_SCALAR
  const F64 d;
  const hn::RebindToSigned<F64> di;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t step = 1; step < lanes; step *= 2) {
    const auto from = hn::Sub(hn::Iota(di, 0), hn::Set(di, step));
    const auto wrapped = hn::IndicesFromVec(d, hn::And(from, hn::Set(di, lanes - 1)));
    const auto inside = hn::RebindMask(d, hn::Gt(from, hn::Set(di, -1)));
    v = hn::Add(v, hn::IfThenElseZero(inside, hn::TableLookupLanes(v, wrapped)));
  }
#endif
  return v;
}

// Sums one line whose values are contiguous. x and y may be the same.
void sumLine(const float* x, float* y, std::int64_t size) {
  const F64 d;
  const hn::Rebind<float, F64> floats;
  const hn::RebindToSigned<F64> di;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto last = hn::IndicesFromVec(d, hn::Set(di, lanes - 1));
  VD before = hn::Zero(d);  // the sum of all vectors so far, in all lanes
  std::int64_t i = 0;
  for (; i + lanes <= size; i += lanes) {
    const VD sums = sumsWithin(hn::PromoteTo(d, hn::LoadU(floats, x + i)));
    hn::StoreU(hn::DemoteTo(floats, hn::Add(before, sums)), floats, y + i);
    before = hn::Add(before, hn::TableLookupLanes(sums, last));
  }
  double sum = hn::GetLane(before);
  for (; i < size; ++i) {
    sum += static_cast<double>(x[i]);
    y[i] = static_cast<float>(sum);
  }
}

void runCumulativeSum(const float* x, float* y, std::int64_t size, std::int64_t begin, std::int64_t end) {
  for (std::int64_t line = begin; line < end; ++line) sumLine(x + line * size, y + line * size, size);
}

}  // namespace ipex_studio::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "core/op/kernel.h"
#include "kernels/common/line_walk.h"
#include "kernels/common/parallel.h"

namespace ipex_studio {
namespace {

HWY_EXPORT(runCumulativeSum);

using CumulativeSumRun = void (*)(const float*, float*, std::int64_t, std::int64_t, std::int64_t);

class CumulativeSumSimdOp final : public PreparedOp {
 public:
  CumulativeSumRun run = nullptr;
  std::int64_t size = 0, lines = 0, grain = 1;
  std::int32_t threads = 1;

  void execute(ExecState*, const void* const* from, void* const* to, void*) const override {
    parallelFor(lines, grain, threads, [&](std::int64_t begin, std::int64_t end, int) {
      run(static_cast<const float*>(from[0]), static_cast<float*>(to[0]), size, begin, end);
    });
  }
};

class CumulativeSumSimd final : public Kernel {
 public:
  const char* name() const override { return "cumulative_sum_simd"; }

  Verdict supports(const PrepareArgs& args) const override {
    constexpr std::int64_t kShort = 16;  // two vectors of the widest instruction set
    if (args.src[0].dtype != DType::kF32) return Verdict::no("dtype");
    if (!args.spec.post_ops.empty()) return Verdict::no("post-ops");
    if (!args.src[0].isContiguous()) return Verdict::no("layout");
    const LineWalk walk = linesAlong(args.spec, args.src[0].dims);
    if (walk.inner != 1) return Verdict::no("inner-axis");
    return walk.size >= kShort ? Verdict::yes() : Verdict::no("short-lines");
  }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string*) const override {
    const Dims& x = args.src[0].dims;
    const LineWalk walk = linesAlong(args.spec, x);
    auto op = std::make_unique<CumulativeSumSimdOp>();
    op->src = {contiguousDesc(DType::kF32, x)};
    op->dst = {contiguousDesc(DType::kF32, x)};
    op->packed = {false};
    op->may_alias = true;
    op->size = walk.size;
    op->lines = walk.lines;
    op->grain = grainFor(walk.size);
    op->run = IPEX_SELECT_TARGET(runCumulativeSum, args.target.isa);
    op->threads = args.target.threads;
    op->flops = x.count();
    return op;
  }
};

}  // namespace

std::unique_ptr<Kernel> makeCumulativeSumSimd() { return std::make_unique<CumulativeSumSimd>(); }

}  // namespace ipex_studio

#endif  // HWY_ONCE
