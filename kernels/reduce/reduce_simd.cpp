// Mean, sum, max and min over any axes of an f32 tensor in row-major, channels-last or channel-blocked layout; global
// average pooling is the important case. Blocked sources give blocked results where dims are kept.
//
// Declines: dtype, post-ops, empty.
#define HWY_TARGET_INCLUDE "kernels/reduce/reduce_simd.cpp"
#include "kernels/common/simd-inl.h"

#include <algorithm>
#include <limits>

#include "kernels/common/loop_nest.h"
#include "kernels/common/partial_vector-inl.h"
#include "kernels/reduce/reduce_job.h"

HWY_BEFORE_NAMESPACE();
namespace ipex_studio::HWY_NAMESPACE {

struct Sum {
  static float start() { return 0; }
  static HWY_INLINE VF join(VF a, VF v) { return hn::Add(a, v); }
  static HWY_INLINE float joinOne(float a, float v) { return a + v; }
  static HWY_INLINE float joinLanes(VF v) { return hn::GetLane(hn::SumOfLanes(F32(), v)); }
};

// For lanes of which one is NaN, which the library's maximum over lanes drops.
template <class Op>
HWY_INLINE float joinLanesOneByOne(VF v) {
  const F32 d;
  HWY_ALIGN float parts[hn::MaxLanes(d)];
  hn::Store(v, d, parts);
  float total = parts[0];
  for (std::size_t l = 1; l < hn::Lanes(d); ++l) total = Op::joinOne(total, parts[l]);
  return total;
}

struct Highest {
  static float start() { return -std::numeric_limits<float>::infinity(); }
  static HWY_INLINE VF join(VF a, VF v) { return hn::IfThenElse(hn::IsNaN(a), a, hn::Max(a, v)); }
  static HWY_INLINE float joinOne(float a, float v) { return a != a || a > v ? a : v; }
  static HWY_INLINE float joinLanes(VF v) {
    const F32 d;
    return hn::AllFalse(d, hn::IsNaN(v)) ? hn::GetLane(hn::MaxOfLanes(d, v)) : joinLanesOneByOne<Highest>(v);
  }
};
struct Lowest {
  static float start() { return std::numeric_limits<float>::infinity(); }
  static HWY_INLINE VF join(VF a, VF v) { return hn::IfThenElse(hn::IsNaN(a), a, hn::Min(a, v)); }
  static HWY_INLINE float joinOne(float a, float v) { return a != a || a < v ? a : v; }
  static HWY_INLINE float joinLanes(VF v) {
    const F32 d;
    return hn::AllFalse(d, hn::IsNaN(v)) ? hn::GetLane(hn::MinOfLanes(d, v)) : joinLanesOneByOne<Lowest>(v);
  }
};

// The first `count` values of a row, and what changes no result in the other lanes.
template <class Op>
HWY_INLINE VF loadPart(const float* from, std::int64_t count) {
  const F32 d;
  return hn::IfThenElse(hn::FirstN(d, static_cast<std::size_t>(count)), loadFirst(from, count),
                        hn::Set(d, Op::start()));
}

// Reduces `count` contiguous values to one.
template <class Op>
float reduceRun(const float* x, std::int64_t count) {
  const F32 d;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  VF a = hn::Set(d, Op::start()), b = a, c = a, e = a;
  std::int64_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    a = Op::join(a, hn::LoadU(d, x + i));
    b = Op::join(b, hn::LoadU(d, x + i + lanes));
    c = Op::join(c, hn::LoadU(d, x + i + 2 * lanes));
    e = Op::join(e, hn::LoadU(d, x + i + 3 * lanes));
  }
  for (; i + lanes <= count; i += lanes) a = Op::join(a, hn::LoadU(d, x + i));
  if (i < count) b = Op::join(b, loadPart<Op>(x + i, count - i));
  return Op::joinLanes(Op::join(Op::join(a, b), Op::join(c, e)));
}

// Reduces short runs, a run in each lane; `count` of them, `x_step` and `y_step` apart. Returns how many were whole
// vectors of runs and are done.
template <class Op>
std::int64_t reduceShortRuns(const ReduceJob& job, const float* x, float* y, std::int64_t count) {
  constexpr std::int64_t kFarthest = 1 << 24;  // elements, so that distances within a vector fit 32 bits
  if (job.run_x_step > kFarthest) return 0;
  const F32 d;
  const hn::RebindToSigned<F32> di;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto offsets = hn::Mul(hn::Iota(di, 0), hn::Set(di, static_cast<std::int32_t>(job.run_x_step)));
  const VF factor = hn::Set(d, job.factor);
  HWY_ALIGN float results[hn::MaxLanes(d)];
  std::int64_t run = 0;
  for (; run + lanes <= count; run += lanes) {
    VF total = hn::Set(d, Op::start());
    for (std::int64_t p = 0; p < job.outer_positions; ++p) {
      const float* at = x + run * job.run_x_step + job.reduced.offset(0, p, job.reduced.loops());
      for (std::int64_t r = 0; r < job.rows; ++r, at += job.row_stride) {
        for (std::int64_t i = 0; i < job.inner; ++i) total = Op::join(total, hn::GatherIndex(d, at + i, offsets));
      }
    }
    total = hn::Mul(total, factor);
    float* const to = y + run * job.run_y_step;
    if (job.run_y_step == 1) {
      hn::StoreU(total, d, to);
    } else {
      hn::Store(total, d, results);
      for (std::int64_t l = 0; l < lanes; ++l) to[l * job.run_y_step] = results[l];
    }
  }
  return run;
}

// Reduces wide rows one after the other, in the order of memory, into y, which stays in the first-level cache.
template <class Op>
void reduceWideRows(const float* x, std::int64_t rows, std::int64_t stride, std::int64_t width, float* y) {
  const F32 d;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t r = 0;
  for (; r + 4 <= rows; r += 4) {
    const float *a = x + r * stride, *b = a + stride, *c = b + stride, *e = c + stride;
    std::int64_t i = 0;
    for (; i + lanes <= width; i += lanes) {
      const VF ab = Op::join(hn::LoadU(d, a + i), hn::LoadU(d, b + i));
      const VF ce = Op::join(hn::LoadU(d, c + i), hn::LoadU(d, e + i));
      hn::StoreU(Op::join(hn::LoadU(d, y + i), Op::join(ab, ce)), d, y + i);
    }
    for (; i < width; ++i) y[i] = Op::joinOne(y[i], Op::joinOne(Op::joinOne(a[i], b[i]), Op::joinOne(c[i], e[i])));
  }
  for (; r < rows; ++r) {
    const float* a = x + r * stride;
    std::int64_t i = 0;
    for (; i + lanes <= width; i += lanes) hn::StoreU(Op::join(hn::LoadU(d, y + i), hn::LoadU(d, a + i)), d, y + i);
    for (; i < width; ++i) y[i] = Op::joinOne(y[i], a[i]);
  }
}

// Reduces a column of vectors, one of each row, and what `first` holds.
template <class Op, class Load>
HWY_INLINE VF reduceColumn(const Load& load, std::int64_t rows, VF first) {
  // Four results, as additions have a latency of four cycles, and short chains round less.
  VF a = first, b = hn::Set(F32(), Op::start()), c = b, e = b;
  std::int64_t r = 0;
  for (; r + 4 <= rows; r += 4) {
    a = Op::join(a, load(r));
    b = Op::join(b, load(r + 1));
    c = Op::join(c, load(r + 2));
    e = Op::join(e, load(r + 3));
  }
  for (; r < rows; ++r) a = Op::join(a, load(r));
  return Op::join(Op::join(a, b), Op::join(c, e));
}

// Reduces `width` contiguous values of each of `rows` narrow rows into y; sums stay in registers.
template <class Op>
void reduceRows(const float* x, std::int64_t rows, std::int64_t stride, std::int64_t width, float* y) {
  const F32 d;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + lanes <= width; i += lanes) {
    const auto load = [&](std::int64_t r) HWY_ATTR { return hn::LoadU(d, x + r * stride + i); };
    hn::StoreU(reduceColumn<Op>(load, rows, hn::LoadU(d, y + i)), d, y + i);
  }
  if (i < width) {
    const std::int64_t rest = width - i;
    const auto load = [&](std::int64_t r) HWY_ATTR { return loadFirst(x + r * stride + i, rest); };
    storeFirst(reduceColumn<Op>(load, rows, loadFirst(y + i, rest)), y + i, rest);
  }
}

// Reduces runs one after the other, `count` of them.
template <class Op>
void reduceLongRuns(const ReduceJob& job, const float* x, float* y, std::int64_t count) {
  for (std::int64_t run = 0; run < count; ++run) {
    float total = Op::start();
    for (std::int64_t p = 0; p < job.outer_positions; ++p) {
      const float* at = x + run * job.run_x_step + job.reduced.offset(0, p, job.reduced.loops());
      for (std::int64_t r = 0; r < job.rows; ++r)
        total = Op::joinOne(total, reduceRun<Op>(at + r * job.row_stride, job.inner));
    }
    y[run * job.run_y_step] = total * job.factor;
  }
}

// Computes kept positions [begin, end), each of which is a run.
template <class Op>
void reduceRuns(const ReduceJob& job, const float* x, float* y, std::int64_t begin, std::int64_t end) {
  for (std::int64_t item = begin; item < end;) {
    const std::int64_t count = std::min(end - item, job.runs_beside - item % job.runs_beside);
    const float* const from = x + job.kept.offset(0, item, job.kept.loops());
    float* const to = y + job.kept.offset(1, item, job.kept.loops());
    const std::int64_t done = job.inner <= kReduceShort ? reduceShortRuns<Op>(job, from, to, count) : 0;
    reduceLongRuns<Op>(job, from + done * job.run_x_step, to + done * job.run_y_step, count - done);
    item += count;
  }
}

template <class Op>
void reduceItems(const ReduceJob& job, const float* x, float* y, std::int64_t begin, std::int64_t end) {
  if (job.inner_reduced) return reduceRuns<Op>(job, x, y, begin, end);
  for (std::int64_t item = begin; item < end; ++item) {
    const std::int64_t outer = item / job.pieces, piece = item % job.pieces;
    const std::int64_t first = piece * job.piece_width, width = std::min(job.piece_width, job.inner - first);
    const float* from = x + job.kept.offset(0, outer, job.kept.loops()) + first;
    float* to = y + job.kept.offset(1, outer, job.kept.loops()) + first;
    std::fill(to, to + width, Op::start());
    for (std::int64_t p = 0; p < job.outer_positions; ++p) {
      const float* at = from + job.reduced.offset(0, p, job.reduced.loops());
      if (width > kReduceNarrow) {
        reduceWideRows<Op>(at, job.rows, job.row_stride, width, to);
      } else {
        reduceRows<Op>(at, job.rows, job.row_stride, width, to);
      }
    }
    for (std::int64_t i = 0; i < width; ++i) to[i] *= job.factor;
  }
}

void runReduce(const ReduceJob& job, const float* x, float* y, std::int64_t begin, std::int64_t end) {
  switch (job.mode) {
    case ReduceMode::kSum:
      return reduceItems<Sum>(job, x, y, begin, end);
    case ReduceMode::kMax:
      return reduceItems<Highest>(job, x, y, begin, end);
    case ReduceMode::kMin:
      return reduceItems<Lowest>(job, x, y, begin, end);
  }
}

}  // namespace ipex_studio::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "core/op/kernel.h"
#include "kernels/common/parallel.h"
#include "kernels/common/reduce_axes.h"

namespace ipex_studio {
namespace {

HWY_EXPORT(runReduce);

using ReduceRun = void (*)(const ReduceJob&, const float*, float*, std::int64_t, std::int64_t);

class ReduceOp final : public PreparedOp {
 public:
  ReduceJob job;
  ReduceRun run = nullptr;
  std::int64_t items = 0, grain = 1;
  std::int32_t threads = 1;

  void execute(ExecState*, const void* const* from, void* const* to, void*) const override {
    parallelFor(items, grain, threads, [&](std::int64_t begin, std::int64_t end, int) {
      run(job, static_cast<const float*>(from[0]), static_cast<float*>(to[0]), begin, end);
    });
  }
};

// Moves one loop of the nest.
void takeLoop(const LoopNest& from, int loop, LoopNest* to) {
  to->size.push_back(from.size[loop]);
  to->stride.resize(from.stride.size());
  for (std::size_t t = 0; t < from.stride.size(); ++t) to->stride[t].push_back(from.stride[t][loop]);
}

void planLoops(const LoopNest& nest, std::int64_t threads, ReduceJob* job) {
  const int last = nest.loops() - 1;
  job->inner = nest.size[last];
  job->inner_reduced = nest.stride[1][last] == 0 && nest.size[last] > 1;
  job->piece_width = job->inner;
  int row_loop = -1;
  for (int loop = 0; loop < last; ++loop) {
    if (nest.stride[1][loop] == 0) row_loop = loop;
  }
  job->kept.stride.resize(2);
  job->reduced.stride.resize(2);
  for (int loop = 0; loop < last; ++loop) {
    if (loop == row_loop) continue;
    takeLoop(nest, loop, nest.stride[1][loop] == 0 ? &job->reduced : &job->kept);
  }
  if (row_loop >= 0) {
    job->rows = nest.size[row_loop];
    job->row_stride = nest.stride[0][row_loop];
  }
  job->outer_positions = job->reduced.count();
  if (job->inner_reduced && job->kept.loops() > 0) {
    job->runs_beside = job->kept.size.back();
    job->run_x_step = job->kept.stride[0].back();
    job->run_y_step = job->kept.stride[1].back();
  }
  // If there are fewer outer items than threads, long rows of kept values are shared in pieces.
  if (!job->inner_reduced && job->kept.count() < threads) {
    const std::int64_t share = (job->inner + threads - 1) / threads;
    job->piece_width = std::min(job->inner, std::max(kReduceNarrow, (share + 15) / 16 * 16));
  }
  if (!job->inner_reduced) job->piece_width = std::min(job->piece_width, kReduceWide);
  job->pieces = (job->inner + job->piece_width - 1) / job->piece_width;
}

class ReduceSimd final : public Kernel {
 public:
  const char* name() const override { return "reduce_simd"; }

  Verdict supports(const PrepareArgs& args) const override {
    if (args.src[0].dtype != DType::kF32 || args.dst[0].dtype != DType::kF32) return Verdict::no("dtype");
    if (!args.spec.post_ops.empty()) return Verdict::no("post-ops");
    return args.src[0].dims.count() > 0 ? Verdict::yes() : Verdict::no("empty");
  }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string* reason) const override {
    auto op = build(args, args.src[0]);
    if (!op) op = build(args, contiguousDesc(DType::kF32, args.src[0].dims));
    if (!op) *reason = "layout";
    return op;
  }

 private:
  static std::unique_ptr<PreparedOp> build(const PrepareArgs& args, const TensorDesc& x) {
    const std::vector<bool> reduced = reducedAxes(args.spec, x.dims.rank);
    const bool keepdim = args.spec.intOr("keepdim", 0) != 0;
    TensorDesc y = contiguousDesc(DType::kF32, args.dst[0].dims);
    if (x.block > 0) {
      const bool full_blocks = x.dims[1] % x.block == 0;
      if (!full_blocks && (reduced[1] || !keepdim)) return nullptr;
      if (!reduced[1] && keepdim) y = blockedDesc(DType::kF32, y.dims, x.block);
    }
    LoopNest nest;
    if (!makeLoopNest({x, spreadResult(x, y, reduced, keepdim)}, &nest)) return nullptr;
    const int last = nest.loops() - 1;
    const bool inner_kept = nest.stride[1][last] != 0;
    if (nest.stride[0][last] != 1 || (inner_kept && nest.stride[1][last] != 1)) return nullptr;

    auto op = std::make_unique<ReduceOp>();
    planLoops(nest, args.target.threads, &op->job);
    const std::string mode = args.spec.stringOr("mode", "mean");
    op->job.mode = mode == "max" ? ReduceMode::kMax : mode == "min" ? ReduceMode::kMin : ReduceMode::kSum;
    if (mode == "mean") op->job.factor = static_cast<float>(double(y.dims.count()) / double(x.dims.count()));
    op->src = {x};
    op->dst = {y};
    op->packed = {false};
    op->run = IPEX_SELECT_TARGET(runReduce, args.target.isa);
    op->items = op->job.kept.count() * op->job.pieces;
    op->grain = grainFor(nest.count() / std::max<std::int64_t>(1, op->items) / 4);
    op->threads = args.target.threads;
    op->flops = x.dims.count();
    return op;
  }
};

}  // namespace

std::unique_ptr<Kernel> makeReduceSimd() { return std::make_unique<ReduceSimd>(); }

}  // namespace ipex_studio

#endif  // HWY_ONCE
