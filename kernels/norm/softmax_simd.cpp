// softmax(scale·x + mask) or its logarithm over any axis; the mask broadcasts. BF16 and FP16 are computed in FP32, row
// by row.
//
// Declines: dtype, post-ops, empty, mask-axis (a mask with an axis that is not innermost), axis (of numbers of two
// bytes, not innermost), layout.
#define HWY_TARGET_INCLUDE "kernels/norm/softmax_simd.cpp"
#include "kernels/common/simd-inl.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "kernels/common/byte_convert-inl.h"
#include "kernels/common/partial_vector-inl.h"
#include "kernels/common/row_job.h"
#include "kernels/common/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ipex_studio::HWY_NAMESPACE {

// Calls fn(i) for whole vectors of [0, count) and returns where the rest begins.
template <class F>
HWY_INLINE std::int64_t forVectors(std::int64_t count, const F& fn) {
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(F32()));
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) fn(i);
  return i;
}

// y = scale·x + mask; returns the largest value.
float prepareRow(const SoftmaxJob& job, const float* x, const float* mask, float* y) {
  const F32 d;
  const VF scale = hn::Set(d, job.scale);
  const float flat = job.has_mask && job.mask_stride == 0 ? mask[0] : 0.0f;
  const bool full_mask = job.has_mask && job.mask_stride != 0;
  VF highest = hn::Set(d, -std::numeric_limits<float>::infinity());
  std::int64_t i = forVectors(job.size, [&](std::int64_t at) HWY_ATTR {
    const VF offset = full_mask ? hn::LoadU(d, mask + at) : hn::Set(d, flat);
    const VF value = hn::MulAdd(hn::LoadU(d, x + at), scale, offset);
    highest = hn::Max(highest, value);
    hn::StoreU(value, d, y + at);
  });
  float top = hn::GetLane(hn::MaxOfLanes(d, highest));
  for (; i < job.size; ++i) {
    y[i] = x[i] * job.scale + (full_mask ? mask[i] : flat);
    top = std::max(top, y[i]);
  }
  return top;
}

// Sum of e^(y - top); stores the terms unless `log`.
float exponentials(const SoftmaxJob& job, float top, float* y) {
  const F32 d;
  const VF shift = hn::Set(d, top);
  VF sum = hn::Zero(d);
  const std::int64_t i = forVectors(job.size, [&](std::int64_t at) HWY_ATTR {
    const VF e = expV(d, hn::Sub(hn::LoadU(d, y + at), shift));
    sum = hn::Add(sum, e);
    if (!job.log) hn::StoreU(e, d, y + at);
  });
  float total = hn::GetLane(hn::SumOfLanes(d, sum));
  if (i == job.size) return total;
  HWY_ALIGN float tail[hn::MaxLanes(d)];
  const std::int64_t rest = job.size - i;
  std::fill(tail, tail + hn::Lanes(d), top);
  std::copy(y + i, y + job.size, tail);
  hn::Store(expV(d, hn::Sub(hn::Load(d, tail), shift)), d, tail);
  for (std::int64_t t = 0; t < rest; ++t) total += tail[t];
  if (!job.log) std::copy(tail, tail + rest, y + i);
  return total;
}

void softmaxRow(const SoftmaxJob& job, const float* x, const float* mask, float* y) {
  const F32 d;
  const float top = prepareRow(job, x, mask, y);
  const float sum = exponentials(job, top, y);
  const float factor = job.log ? 1.0f : 1.0f / sum, offset = job.log ? -top - std::log(sum) : 0.0f;
  const VF f = hn::Set(d, factor), o = hn::Set(d, offset);
  std::int64_t i = forVectors(
      job.size, [&](std::int64_t at) HWY_ATTR { hn::StoreU(hn::MulAdd(hn::LoadU(d, y + at), f, o), d, y + at); });
  for (; i < job.size; ++i) y[i] = y[i] * factor + offset;
}

// A row of kVectors vectors, the last of which may be a part: it stays in registers.
template <int kVectors>
void softmaxShortRow(const SoftmaxJob& job, const float* x, const float* mask, float* y) {
  const F32 d;
  constexpr std::int64_t kLanes = hn::MaxLanes(d), kLast = (kVectors - 1) * kLanes;
  const std::int64_t rest = job.size - kLast;
  const auto inside = hn::FirstN(d, static_cast<std::size_t>(rest));
  const VF scale = hn::Set(d, job.scale), lowest = hn::Set(d, -std::numeric_limits<float>::infinity());
  const VF flat = hn::Set(d, job.has_mask && job.mask_stride == 0 ? mask[0] : 0.0f);
  const bool full_mask = job.has_mask && job.mask_stride != 0;
  VF values[kVectors];
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) {
    const bool last = v == kVectors - 1;
    const std::int64_t at = v * kLanes;
    const VF value = last ? loadFirst(x + at, rest) : hn::LoadU(d, x + at);
    const VF offset = !full_mask ? flat : last ? loadFirst(mask + at, rest) : hn::LoadU(d, mask + at);
    values[v] = hn::MulAdd(value, scale, offset);
  }
  VF highest = hn::IfThenElse(inside, values[kVectors - 1], lowest), sum = hn::Zero(d);
#pragma GCC unroll 4
  for (int v = 0; v + 1 < kVectors; ++v) highest = hn::Max(highest, values[v]);
  const VF top = hn::MaxOfLanes(d, highest);
  // Lanes after the last value take e^0: where a power underflows the CPU is slow.
  values[kVectors - 1] = hn::IfThenElse(inside, values[kVectors - 1], top);
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) {
    const VF shifted = hn::Sub(values[v], top), e = expV(d, shifted);
    sum = hn::Add(sum, v == kVectors - 1 ? hn::IfThenElseZero(inside, e) : e);
    values[v] = job.log ? shifted : e;
  }
  sum = hn::SumOfLanes(d, sum);
  const VF factor = hn::Div(hn::Set(d, 1.0f), sum);
  const VF offset = job.log ? logV(d, sum) : sum;
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) {
    const VF result = job.log ? hn::Sub(values[v], offset) : hn::Mul(values[v], factor);
    if (v == kVectors - 1) return storeFirst(result, y + kLast, rest);
    hn::StoreU(result, d, y + v * kLanes);
  }
}

void softmaxAnyRow(const SoftmaxJob& job, const float* x, const float* mask, float* y) {
  switch ((job.size - 1) / static_cast<std::int64_t>(hn::MaxLanes(F32()))) {
    case 0:
      return softmaxShortRow<1>(job, x, mask, y);
    case 1:
      return softmaxShortRow<2>(job, x, mask, y);
    case 2:
      return softmaxShortRow<3>(job, x, mask, y);
    case 3:
      return softmaxShortRow<4>(job, x, mask, y);
    default:
      softmaxRow(job, x, mask, y);
  }
}

// Computes `width` columns at once: at least 1, at most kVectors vectors, of which the last may be a part.
template <int kVectors>
void softmaxColumns(const SoftmaxJob& job, const float* x, float* y, std::int64_t width) {
  const F32 d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const std::int64_t last = (kVectors - 1) * lanes, rest = width - last;
  const auto load = [&](const float* row, int v) HWY_ATTR {
    return v + 1 == kVectors ? loadFirst(row + last, rest) : hn::LoadU(d, row + v * lanes);
  };
  const auto store = [&](VF value, float* row, int v) HWY_ATTR {
    if (v + 1 == kVectors) return storeFirst(value, row + last, rest);
    hn::StoreU(value, d, row + v * lanes);
  };
  const VF scale = hn::Set(d, job.scale);
  VF highest[kVectors], sum[kVectors], factor[kVectors];
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) {
    highest[v] = hn::Set(d, -std::numeric_limits<float>::infinity());
    sum[v] = hn::Zero(d);
  }
  for (std::int64_t k = 0; k < job.size; ++k) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) highest[v] = hn::Max(highest[v], hn::Mul(load(x + k * job.x_stride, v), scale));
  }
  for (std::int64_t k = 0; k < job.size; ++k) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      const VF shifted = hn::Sub(hn::Mul(load(x + k * job.x_stride, v), scale), highest[v]);
      const VF e = expV(d, shifted);
      sum[v] = hn::Add(sum[v], e);
      store(job.log ? shifted : e, y + k * job.y_stride, v);
    }
  }
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) factor[v] = job.log ? logV(d, sum[v]) : hn::Div(hn::Set(d, 1.0f), sum[v]);
  for (std::int64_t k = 0; k < job.size; ++k) {
    float* row = y + k * job.y_stride;
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      const VF value = load(row, v);
      store(job.log ? hn::Sub(value, factor[v]) : hn::Mul(value, factor[v]), row, v);
    }
  }
}

// Columns [begin, end).
void softmaxColumnRange(const SoftmaxJob& job, const float* x, float* y, std::int64_t begin, std::int64_t end) {
  constexpr int kVectors = 4;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(F32()));
  std::int64_t c = begin;
  for (; c + kVectors * lanes <= end; c += kVectors * lanes)
    softmaxColumns<kVectors>(job, x + c, y + c, kVectors * lanes);
  for (; c < end; c += lanes) softmaxColumns<1>(job, x + c, y + c, std::min(lanes, end - c));
}

// Makes values[i] = op of all values[j] with the same remainder of j by `columns`.
template <class F>
void combineColumns(float* values, std::int64_t count, std::int64_t columns, const F& op) {
  for (std::int64_t i = columns; i < count; ++i) values[i % columns] = op(values[i % columns], values[i]);
  for (std::int64_t i = columns; i < count; ++i) values[i] = values[i - columns];
}

// Fewer columns than lanes, which follow each other without a gap along the axis: vectors run through memory, and after
// a period of them each lane is in the column again where it began.
void softmaxNarrowColumns(const SoftmaxJob& job, const float* x, float* y) {
  const F32 d;
  constexpr std::int64_t kLeast = 4;  // vectors of a period, so that sums do not wait for each other
  constexpr auto kMaxLanes = static_cast<std::int64_t>(hn::MaxLanes(d));
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const std::int64_t shortest = job.columns / std::gcd(job.columns, lanes);
  const std::int64_t period = (kLeast + shortest - 1) / shortest * shortest, count = period * lanes;
  const std::int64_t total = job.size * job.columns;
  HWY_ALIGN float highest[(kMaxLanes + kLeast) * kMaxLanes];
  HWY_ALIGN float sums[(kMaxLanes + kLeast) * kMaxLanes];
  std::fill(highest, highest + count, -std::numeric_limits<float>::infinity());
  std::fill(sums, sums + count, 0.0f);
  const VF scale = hn::Set(d, job.scale);
  // Calls step(at, slot, lanes inside) for each vector; slot: where the lanes are in a period.
  const auto forAll = [&](const auto& step) HWY_ATTR {
    std::int64_t slot = 0;
    for (std::int64_t at = 0; at < total; at += lanes) {
      step(at, slot, std::min(lanes, total - at));
      slot = slot + lanes == count ? 0 : slot + lanes;
    }
  };

  forAll([&](std::int64_t at, std::int64_t slot, std::int64_t inside) HWY_ATTR {
    const VF before = hn::Load(d, highest + slot);
    const VF after = hn::Max(before, hn::Mul(loadFirst(x + at, inside), scale));
    hn::Store(hn::IfThenElse(hn::FirstN(d, static_cast<std::size_t>(inside)), after, before), d, highest + slot);
  });
  combineColumns(highest, count, job.columns, [](float a, float b) { return a > b ? a : b; });
  forAll([&](std::int64_t at, std::int64_t slot, std::int64_t inside) HWY_ATTR {
    const auto within = hn::FirstN(d, static_cast<std::size_t>(inside));
    const VF value = hn::Sub(hn::Mul(loadFirst(x + at, inside), scale), hn::Load(d, highest + slot));
    // Lanes after the last value take e^0: where a power underflows the CPU is slow.
    const VF shifted = hn::IfThenElseZero(within, value), e = expV(d, shifted);
    hn::Store(hn::Add(hn::Load(d, sums + slot), hn::IfThenElseZero(within, e)), d, sums + slot);
    storeFirst(job.log ? shifted : e, y + at, inside);
  });
  combineColumns(sums, count, job.columns, [](float a, float b) { return a + b; });
  for (std::int64_t slot = 0; slot < count; slot += lanes) {
    const VF sum = hn::Load(d, sums + slot);
    hn::Store(job.log ? logV(d, sum) : hn::Div(hn::Set(d, 1.0f), sum), d, sums + slot);
  }
  forAll([&](std::int64_t at, std::int64_t slot, std::int64_t inside) HWY_ATTR {
    const VF value = loadFirst(y + at, inside), factor = hn::Load(d, sums + slot);
    storeFirst(job.log ? hn::Sub(value, factor) : hn::Mul(value, factor), y + at, inside);
  });
}

void runSoftmax(const SoftmaxJob& job, const float* x, const float* mask, float* y, std::int64_t begin,
                std::int64_t end) {
  const int loops = job.outer.loops();
  const std::int64_t bundles = job.bundles();
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(F32()));
  const bool narrow = job.columns < lanes && job.x_stride == job.columns && job.y_stride == job.columns;
  for (std::int64_t p = begin; p < end; ++p) {
    const std::int64_t row = p / bundles, bundle = p % bundles;
    const float* from = x + job.outer.offset(1, row, loops);
    float* to = y + job.outer.offset(0, row, loops);
    if (job.columns == 0) {
      softmaxAnyRow(job, from, job.has_mask ? mask + job.outer.offset(2, row, loops) : nullptr, to);
    } else if (narrow) {
      softmaxNarrowColumns(job, from, to);
    } else {
      softmaxColumnRange(job, from, to, bundle * kSoftmaxBundle, std::min(job.columns, (bundle + 1) * kSoftmaxBundle));
    }
  }
}

// `scratch`: two rows.
void runNarrowSoftmax(const SoftmaxJob& job, const std::uint16_t* x, const void* mask, std::uint16_t* y, float* scratch,
                      std::int64_t begin, std::int64_t end) {
  const int loops = job.outer.loops();
  float* const added = scratch + job.size;
  const auto size = static_cast<std::size_t>(job.size);
  for (std::int64_t row = begin; row < end; ++row) {
    upconvertValues(job.dtype, x + job.outer.offset(1, row, loops), scratch, size);
    const float* offsets = added;
    if (job.has_mask) {
      const std::int64_t at = job.outer.offset(2, row, loops);
      if (job.mask_dtype == DType::kF32) {
        offsets = static_cast<const float*>(mask) + at;
      } else {
        upconvertValues(job.mask_dtype, static_cast<const std::uint16_t*>(mask) + at, added,
                        job.mask_stride == 0 ? 1 : size);
      }
    }
    softmaxAnyRow(job, scratch, offsets, scratch);
    downconvertValues(job.dtype, scratch, y + job.outer.offset(0, row, loops), size);
  }
}

}  // namespace ipex_studio::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "core/op/kernel.h"
#include "core/op/low_precision_floats.h"
#include "kernels/common/parallel.h"

namespace ipex_studio {
namespace {

HWY_EXPORT(runSoftmax);
HWY_EXPORT(runNarrowSoftmax);

using SoftmaxRun = void (*)(const SoftmaxJob&, const float*, const float*, float*, std::int64_t, std::int64_t);
using NarrowSoftmaxRun = void (*)(const SoftmaxJob&, const std::uint16_t*, const void*, std::uint16_t*, float*,
                                  std::int64_t, std::int64_t);

class SoftmaxOp final : public PreparedOp {
 public:
  SoftmaxJob job;
  SoftmaxRun run = nullptr;
  std::int64_t grain = 1;
  std::int32_t threads = 1;

  void execute(ExecState*, const void* const* from, void* const* to, void*) const override {
    parallelFor(job.outer.count() * job.bundles(), grain, threads, [&](std::int64_t begin, std::int64_t end, int) {
      run(job, static_cast<const float*>(from[0]), static_cast<const float*>(from[1]), static_cast<float*>(to[0]),
          begin, end);
    });
  }
};

class NarrowSoftmaxOp final : public PreparedOp {
 public:
  SoftmaxJob job;
  NarrowSoftmaxRun run = nullptr;
  std::int64_t grain = 1;
  std::int32_t threads = 1;
  std::size_t floats_per_thread = 0;

  void execute(ExecState*, const void* const* from, void* const* to, void* scratch) const override {
    parallelFor(job.outer.count(), grain, threads, [&](std::int64_t begin, std::int64_t end, int thread) {
      float* const own = static_cast<float*>(scratch) + static_cast<std::size_t>(thread) * floats_per_thread;
      run(job, static_cast<const std::uint16_t*>(from[0]), from[1], static_cast<std::uint16_t*>(to[0]), own, begin,
          end);
    });
  }
};

TensorDesc without(const TensorDesc& desc, int axis) {
  TensorDesc rest = desc;
  rest.dims[axis] = 1;
  return rest;
}

class SoftmaxSimd final : public Kernel {
 public:
  const char* name() const override { return "softmax_simd"; }

  Verdict supports(const PrepareArgs& args) const override {
    const DType dtype = args.src[0].dtype;
    if (!isFloatDtype(dtype) || args.dst[0].dtype != dtype) return Verdict::no("dtype");
    const TensorDesc& mask = args.src[1];
    if (!mask.absent() && mask.dtype != DType::kF32 && mask.dtype != dtype) return Verdict::no("dtype");
    if (!args.spec.post_ops.empty()) return Verdict::no("post-ops");
    return args.src[0].dims.count() > 0 ? Verdict::yes() : Verdict::no("empty");
  }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string* reason) const override {
    const TensorDesc& given = args.src[0];
    const int rank = given.dims.rank;
    const std::int64_t named = args.spec.intOr("axis", -1);
    const int axis = static_cast<int>(named < 0 ? named + rank : named);
    const DType dtype = given.dtype;
    TensorDesc x = given.block == 0 && given.strides[axis] == 1 ? given : contiguousDesc(dtype, given.dims);
    const TensorDesc y = isDenseLayout(x) ? laidOutLike(x, dtype, x.dims) : contiguousDesc(dtype, x.dims);
    // If the axis is not innermost in a dense copy of x either, neighbouring columns are computed together.
    const bool rows = x.strides[axis] == 1 && y.strides[axis] == 1;
    if (!rows) x = y;
    if (!rows && isLowPrecisionFloat(dtype)) {
      *reason = "axis";
      return nullptr;
    }

    SoftmaxJob job;
    TensorDesc mask = args.src[1];
    job.dtype = dtype;
    job.size = x.dims[axis];
    job.scale = static_cast<float>(args.spec.floatOr("scale", 1));
    job.log = args.spec.intOr("log", 0) != 0;
    job.has_mask = !mask.absent();
    std::vector<TensorDesc> tensors{without(y, axis), without(x, axis)};
    if (job.has_mask) {
      const bool along = alignRank(mask, rank).dims[axis] > 1;
      if (mask.block > 0 || (along && alignRank(mask, rank).strides[axis] != 1)) {
        mask = contiguousDesc(mask.dtype, mask.dims);
      }
      const TensorDesc aligned = alignRank(mask, rank);
      job.mask_dtype = mask.dtype;
      job.mask_stride = aligned.dims[axis] == 1 ? 0 : aligned.strides[axis];
      if (!rows || job.mask_stride > 1) {
        *reason = "mask-axis";
        return nullptr;
      }
      tensors.push_back(without(aligned, axis));
    }
    if (!makeLoopNest(tensors, &job.outer)) {
      *reason = "layout";
      return nullptr;
    }
    if (!rows) takeColumns(y.strides[axis], &job);
    std::unique_ptr<PreparedOp> op = isLowPrecisionFloat(dtype) ? narrowOp(job, args.target) : wideOp(job, args.target);
    op->src = {x, mask};
    op->dst = {y};
    op->packed = {false, false};
    op->may_alias = true;
    op->flops = 4 * x.dims.count();
    return op;
  }

 private:
  static std::unique_ptr<PreparedOp> wideOp(const SoftmaxJob& job, const Target& target) {
    auto op = std::make_unique<SoftmaxOp>();
    op->job = job;
    op->run = IPEX_SELECT_TARGET(runSoftmax, target.isa);
    op->threads = target.threads;
    op->grain = grainFor(job.size * std::clamp<std::int64_t>(job.columns, 1, kSoftmaxBundle));
    return op;
  }

  static std::unique_ptr<PreparedOp> narrowOp(const SoftmaxJob& job, const Target& target) {
    auto op = std::make_unique<NarrowSoftmaxOp>();
    op->job = job;
    op->run = IPEX_SELECT_TARGET(runNarrowSoftmax, target.isa);
    op->threads = target.threads;
    op->grain = grainFor(job.size);
    op->floats_per_thread = 2 * static_cast<std::size_t>(job.size);
    op->scratch_bytes = op->floats_per_thread * static_cast<std::size_t>(op->threads) * sizeof(float);
    return op;
  }

  // Makes the innermost loop apart from the axis the columns.
  static void takeColumns(std::int64_t axis_stride, SoftmaxJob* job) {
    job->x_stride = job->y_stride = axis_stride;
    job->columns = job->outer.size.back();
    job->outer.size.back() = 1;
  }
};

}  // namespace

std::unique_ptr<Kernel> makeSoftmaxSimd() { return std::make_unique<SoftmaxSimd>(); }

}  // namespace ipex_studio

#endif  // HWY_ONCE
