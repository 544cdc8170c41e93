// The greatest or least values along an axis and their places, of equal ones the first; NaN beats all numbers, as in
// libtorch. Lines that lie side by side, and short lines one after the other, are the lanes of vectors; long lines are
// cut into lanes whose results are compared at the end.
//
// Declines: dtype, post-ops, empty, size (more than 2^31 values in a line).
#define HWY_TARGET_INCLUDE "kernels/reduce/max_min_simd.cpp"
#include "kernels/common/simd-inl.h"

#include <algorithm>

#include "kernels/common/partial_vector-inl.h"
#include "kernels/reduce/max_min_job.h"

HWY_BEFORE_NAMESPACE();
namespace ipex_studio::HWY_NAMESPACE {

using S32 = hn::RebindToSigned<F32>;
using VI = hn::Vec<S32>;

// Comparisons with NaN are false, so NaN is taken, and then stays.
template <bool kGreatest>
HWY_INLINE void take(VF value, VI place, VF& best, VI& best_place) {
  const auto not_better = kGreatest ? hn::Le(value, best) : hn::Ge(value, best);
  const auto better = hn::AndNot(not_better, hn::Eq(best, best));
  best = hn::IfThenElse(better, value, best);
  best_place = hn::IfThenElse(hn::RebindMask(S32(), better), place, best_place);
}

template <bool kGreatest>
HWY_INLINE bool beats(float value, float best) {
  return best == best && !(kGreatest ? value <= best : value >= best);
}

template <bool kGreatest>
HWY_INLINE void takeOne(float value, std::int64_t place, float& best, std::int64_t& best_place) {
  if (beats<kGreatest>(value, best)) {
    best = value;
    best_place = place;
  }
}

// Joins the results of interleaved lanes: of equal values the one at the earlier place counts.
template <bool kGreatest>
HWY_INLINE void takeWinner(float value, std::int64_t place, float& best, std::int64_t& best_place) {
  const bool ties = value == best || (value != value && best != best);
  if (ties ? place < best_place : beats<kGreatest>(value, best)) {
    best = value;
    best_place = place;
  }
}

// Computes one line whose values are contiguous.
template <bool kGreatest>
void longLine(const float* x, std::int64_t size, float* value, std::int64_t* place) {
  const F32 d;
  const S32 di;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  float best = x[0];
  std::int64_t best_place = 0, i = 0;
  if (size >= 2 * lanes) {
    VF a = hn::LoadU(d, x), b = hn::LoadU(d, x + lanes);
    VI at_a = hn::Iota(di, 0), at_b = hn::Iota(di, static_cast<std::int32_t>(lanes)), now = at_a, then = at_b;
    const VI step = hn::Set(di, static_cast<std::int32_t>(2 * lanes));
    for (i = 2 * lanes; i + 2 * lanes <= size; i += 2 * lanes) {
      now = hn::Add(now, step);
      then = hn::Add(then, step);
      take<kGreatest>(hn::LoadU(d, x + i), now, a, at_a);
      take<kGreatest>(hn::LoadU(d, x + i + lanes), then, b, at_b);
    }
    HWY_ALIGN float values[2 * hn::MaxLanes(d)];
    HWY_ALIGN std::int32_t places[2 * hn::MaxLanes(d)];
    hn::Store(a, d, values);
    hn::Store(b, d, values + lanes);
    hn::Store(at_a, di, places);
    hn::Store(at_b, di, places + lanes);
    best = values[0];
    best_place = places[0];
    for (std::int64_t l = 1; l < 2 * lanes; ++l) takeWinner<kGreatest>(values[l], places[l], best, best_place);
  }
  for (; i < size; ++i) takeOne<kGreatest>(x[i], i, best, best_place);
  *value = best;
  *place = best_place;
}

// Computes kVectors vectors of lines, a line in each lane; `load(i, v)` gives value i of the lines in vector v.
// `lines`: how many of them count, at most as many as there are lanes.
template <bool kGreatest, int kVectors, class Load>
HWY_INLINE void linesInLanes(const Load& load, std::int64_t size, std::int64_t lines, float* values,
                             std::int64_t* places) {
  const F32 d;
  const S32 di;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  VF best[kVectors];
  VI place[kVectors];
  for (int v = 0; v < kVectors; ++v) {
    best[v] = load(0, v);
    place[v] = hn::Zero(di);
  }
  for (std::int64_t i = 1; i < size; ++i) {
    const VI now = hn::Set(di, static_cast<std::int32_t>(i));
    for (int v = 0; v < kVectors; ++v) take<kGreatest>(load(i, v), now, best[v], place[v]);
  }
  HWY_ALIGN std::int32_t found[hn::MaxLanes(d)];
  for (int v = 0; v < kVectors; ++v) {
    const std::int64_t count = std::min(lanes, lines - v * lanes);
    storeFirst(best[v], values + v * lanes, count);
    hn::Store(place[v], di, found);
    for (std::int64_t l = 0; l < count; ++l) places[v * lanes + l] = found[l];
  }
}

// Computes neighbouring lines whose values lie `job.inner` apart.
template <bool kGreatest>
void sideBySide(const MaxMinJob& job, const float* x, float* values, std::int64_t* places, std::int64_t begin,
                std::int64_t end) {
  const F32 d;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t item = begin; item < end; ++item) {
    const std::int64_t outer = item / job.pieces, first = item % job.pieces * job.piece_width;
    const std::int64_t last = std::min(job.inner, first + job.piece_width);
    const float* const from = x + outer * job.size * job.inner;
    float* const to = values + outer * job.inner;
    std::int64_t* const at = places + outer * job.inner;
    std::int64_t line = first;
    const auto load = [&](std::int64_t i, int v)
                          HWY_ATTR { return hn::LoadU(d, from + i * job.inner + line + v * lanes); };
    for (; line + 4 * lanes <= last; line += 4 * lanes)
      linesInLanes<kGreatest, 4>(load, job.size, 4 * lanes, to + line, at + line);
    for (; line + lanes <= last; line += lanes) linesInLanes<kGreatest, 1>(load, job.size, lanes, to + line, at + line);
    const std::int64_t rest = last - line;
    const auto load_rest = [&](std::int64_t i, int) HWY_ATTR { return loadFirst(from + i * job.inner + line, rest); };
    if (rest > 0) linesInLanes<kGreatest, 1>(load_rest, job.size, rest, to + line, at + line);
  }
}

// Computes lines that lie one after the other.
template <bool kGreatest>
void inSuccession(const MaxMinJob& job, const float* x, float* values, std::int64_t* places, std::int64_t begin,
                  std::int64_t end) {
  constexpr std::int64_t kShort = 128;
  const F32 d;
  const S32 di;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t line = begin;
  if (job.size <= kShort) {
    const VI offsets = hn::Mul(hn::Iota(di, 0), hn::Set(di, static_cast<std::int32_t>(job.size)));
    const auto load = [&](std::int64_t i, int v)
                          HWY_ATTR { return hn::GatherIndex(d, x + (line + v * lanes) * job.size + i, offsets); };
    for (; line + 2 * lanes <= end; line += 2 * lanes)
      linesInLanes<kGreatest, 2>(load, job.size, 2 * lanes, values + line, places + line);
    for (; line + lanes <= end; line += lanes)
      linesInLanes<kGreatest, 1>(load, job.size, lanes, values + line, places + line);
  }
  for (; line < end; ++line) longLine<kGreatest>(x + line * job.size, job.size, values + line, places + line);
}

void runMaxMin(const MaxMinJob& job, const float* x, float* values, std::int64_t* places, std::int64_t begin,
               std::int64_t end) {
  if (job.inner > 1) {
    job.greatest ? sideBySide<true>(job, x, values, places, begin, end)
                 : sideBySide<false>(job, x, values, places, begin, end);
  } else {
    job.greatest ? inSuccession<true>(job, x, values, places, begin, end)
                 : inSuccession<false>(job, x, values, places, begin, end);
  }
}

}  // namespace ipex_studio::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <limits>

#include "core/op/kernel.h"
#include "kernels/common/line_walk.h"
#include "kernels/common/parallel.h"

namespace ipex_studio {
namespace {

HWY_EXPORT(runMaxMin);

using MaxMinRun = void (*)(const MaxMinJob&, const float*, float*, std::int64_t*, std::int64_t, std::int64_t);

class MaxMinOp final : public PreparedOp {
 public:
  MaxMinJob job;
  MaxMinRun run = nullptr;
  std::int64_t items = 0, grain = 1;
  std::int32_t threads = 1;

  void execute(ExecState*, const void* const* from, void* const* to, void*) const override {
    parallelFor(items, grain, threads, [&](std::int64_t begin, std::int64_t end, int) {
      run(job, static_cast<const float*>(from[0]), static_cast<float*>(to[0]), static_cast<std::int64_t*>(to[1]), begin,
          end);
    });
  }
};

class MaxMinSimd final : public Kernel {
 public:
  const char* name() const override { return "max_min_simd"; }

  Verdict supports(const PrepareArgs& args) const override {
    if (args.src[0].dtype != DType::kF32) return Verdict::no("dtype");
    if (!args.spec.post_ops.empty()) return Verdict::no("post-ops");
    if (args.src[0].dims.count() == 0) return Verdict::no("empty");
    return args.src[0].dims.count() <= std::numeric_limits<std::int32_t>::max() ? Verdict::yes() : Verdict::no("size");
  }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string*) const override {
    const Dims& x = args.src[0].dims;
    const LineWalk walk = linesAlong(args.spec, x);
    auto op = std::make_unique<MaxMinOp>();
    op->src = {contiguousDesc(DType::kF32, x)};
    for (const TensorDesc& dst : args.dst) op->dst.push_back(contiguousDesc(dst.dtype, dst.dims));
    op->packed = {false};
    MaxMinJob& job = op->job;
    job.greatest = args.spec.stringOr("mode", "max") == "max";
    job.size = walk.size;
    job.inner = walk.inner;
    constexpr std::int64_t kPiece = 256;
    job.piece_width = job.inner > 1 ? kPiece : 1;
    job.pieces = (job.inner + job.piece_width - 1) / job.piece_width;
    op->items = walk.lines / job.inner * job.pieces;
    op->grain = grainFor(x.count() / op->items / 4);
    op->run = IPEX_SELECT_TARGET(runMaxMin, args.target.isa);
    op->threads = args.target.threads;
    op->flops = x.count();
    return op;
  }
};

}  // namespace

std::unique_ptr<Kernel> makeMaxMinSimd() { return std::make_unique<MaxMinSimd>(); }

}  // namespace ipex_studio

#endif  // HWY_ONCE
