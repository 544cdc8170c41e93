// Rotation of the heads of one token, and rotary embedding as a step of plans: a row of x at a time, or the rows of
// one angle.
//
// Declines: dtype, post-ops, empty, layout.
#define HWY_TARGET_INCLUDE "kernels/pointwise/rotary_simd.cpp"
#include "kernels/common/simd-inl.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "kernels/common/partial_vector-inl.h"
#include "kernels/pointwise/rotary.h"

HWY_BEFORE_NAMESPACE();
namespace ipex_studio::HWY_NAMESPACE {

// Angles of the values of two vectors, a and b, whose pairs stand in equal lanes.
struct Angles {
  VF sine_a, cosine_a, sine_b, cosine_b;
};

HWY_INLINE void rotatePairs(const Angles& by, VF* a, VF* b) {
  const VF first = *a;
  *a = hn::NegMulAdd(*b, by.sine_a, hn::Mul(first, by.cosine_a));
  *b = hn::MulAdd(first, by.sine_b, hn::Mul(*b, by.cosine_b));
}

// Of the pairs, the first values lie side by side, and the second ones behind them.
template <bool kWhole>
HWY_INLINE void rotateHalves(const float* sines, const float* cosines, float sign, const float* x, float* y,
                             std::int64_t pairs) {
  const F32 d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const VF s = hn::Set(d, sign);
  const auto rotate = [&](std::int64_t i, const auto& load, const auto& store) HWY_ATTR {
    Angles by;
    by.sine_a = hn::Mul(s, load(sines + i));
    by.cosine_a = load(cosines + i);
    by.sine_b = kWhole ? hn::Mul(s, load(sines + pairs + i)) : by.sine_a;
    by.cosine_b = kWhole ? load(cosines + pairs + i) : by.cosine_a;
    VF a = load(x + i), b = load(x + pairs + i);
    rotatePairs(by, &a, &b);
    store(a, y + i);
    store(b, y + pairs + i);
  };
  std::int64_t i = 0;
  for (; i + lanes <= pairs; i += lanes) {
    rotate(
        i, [&](const float* at) HWY_ATTR { return hn::LoadU(d, at); },
        [&](VF v, float* at) HWY_ATTR { hn::StoreU(v, d, at); });
  }
  if (i == pairs) return;
  const std::int64_t left = pairs - i;
  rotate(
      i, [&](const float* at) HWY_ATTR { return loadFirst(at, left); },
      [&](VF v, float* at) HWY_ATTR { storeFirst(v, at, left); });
}

template <bool kWhole>
HWY_INLINE void rotateNeighbors(const float* sines, const float* cosines, float sign, const float* x, float* y,
                                std::int64_t pairs) {
  const F32 d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const VF s = hn::Set(d, sign);
  std::int64_t i = 0;
  for (; i + lanes <= pairs; i += lanes) {
    Angles by;
    if (kWhole) {
      hn::LoadInterleaved2(d, sines + 2 * i, by.sine_a, by.sine_b);
      hn::LoadInterleaved2(d, cosines + 2 * i, by.cosine_a, by.cosine_b);
    } else {
      by.sine_a = by.sine_b = hn::LoadU(d, sines + i);
      by.cosine_a = by.cosine_b = hn::LoadU(d, cosines + i);
    }
    by.sine_a = hn::Mul(s, by.sine_a);
    by.sine_b = hn::Mul(s, by.sine_b);
    VF a, b;
    hn::LoadInterleaved2(d, x + 2 * i, a, b);
    rotatePairs(by, &a, &b);
    hn::StoreInterleaved2(a, b, d, y + 2 * i);
  }
  for (; i < pairs; ++i) {
    const std::int64_t first = kWhole ? 2 * i : i, second = kWhole ? 2 * i + 1 : i;
    const float a = x[2 * i], b = x[2 * i + 1], of_a = sines[first], of_b = sines[second], cosine_a = cosines[first],
                cosine_b = cosines[second];
    y[2 * i] = a * cosine_a - b * sign * of_a;
    y[2 * i + 1] = b * cosine_b + a * sign * of_b;
  }
}

void runRotateToken(const RotaryJob<float>& job, const float* sines, const float* cosines, const float* x, float* y) {
  const std::int64_t pairs = job.rotated / 2, rest = job.width - job.rotated;
  const float sign = job.back ? -1.0f : 1.0f;
  const auto rotate = job.interleaved ? (job.whole_tables ? rotateNeighbors<true> : rotateNeighbors<false>)
                                      : (job.whole_tables ? rotateHalves<true> : rotateHalves<false>);
  for (std::int64_t head = 0; head < job.heads; ++head, x += job.head_stride, y += job.width) {
    rotate(sines, cosines, sign, x, y, pairs);
    if (x != y && rest > 0) {
      std::memcpy(y + job.rotated, x + job.rotated, static_cast<std::size_t>(rest) * sizeof(float));
    }
  }
}

}  // namespace ipex_studio::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "core/op/kernel.h"
#include "kernels/common/loop_nest.h"
#include "kernels/common/parallel.h"

namespace ipex_studio {

HWY_EXPORT(runRotateToken);

RotateToken<float> rotateTokenSimd(const std::string& isa) { return IPEX_SELECT_TARGET(runRotateToken, isa); }

namespace {

class RotaryOp final : public PreparedOp {
 public:
  RotaryJob<float> job;  // of the innermost loop, whose rows are its heads
  LoopNest rows;         // of y, x, cos, sin
  RotateToken<float> rotate = nullptr;
  std::int64_t grain = 1;
  std::int32_t threads = 1;

  void execute(ExecState*, const void* const* from, void* const* to, void*) const override {
    const auto* const x = static_cast<const float*>(from[0]);
    const auto* const cosines = static_cast<const float*>(from[1]);
    const auto* const sines = static_cast<const float*>(from[2]);
    auto* const y = static_cast<float*>(to[0]);
    const int outer = rows.loops() - 1;
    parallelFor(rows.count() / job.heads, grain, threads, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t p = begin; p < end; ++p) {
        rotate(job, sines + rows.offset(3, p, outer), cosines + rows.offset(2, p, outer), x + rows.offset(1, p, outer),
               y + rows.offset(0, p, outer));
      }
    });
  }
};

class RotarySimd final : public Kernel {
 public:
  const char* name() const override { return "rotary_simd"; }

  Verdict supports(const PrepareArgs& args) const override {
    for (const TensorDesc& src : args.src) {
      if (src.dtype != DType::kF32) return Verdict::no("dtype");
    }
    if (!args.spec.post_ops.empty()) return Verdict::no("post-ops");
    return args.src[0].dims.count() > 0 ? Verdict::yes() : Verdict::no("empty");
  }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string* reason) const override {
    const Dims& dims = args.src[0].dims;
    const int last = dims.rank - 1;
    auto op = std::make_unique<RotaryOp>();
    op->dst = {contiguousDesc(DType::kF32, dims)};
    op->packed = {false, false, false};
    std::vector<TensorDesc> tensors{rowsOf(op->dst[0], dims)};
    for (const TensorDesc& src : args.src) {
      const bool rows = src.block == 0 && (src.strides[src.dims.rank - 1] == 1 || src.dims[src.dims.rank - 1] == 1);
      op->src.push_back(rows ? src : contiguousDesc(DType::kF32, src.dims));
      tensors.push_back(rowsOf(op->src.back(), dims));
    }
    if (!makeLoopNest(tensors, &op->rows)) {
      *reason = "layout";
      return nullptr;
    }
    RotaryJob<float>& job = op->job;
    job.width = dims[last];
    job.rotated = args.spec.intOr("rotated", job.width);
    job.interleaved = args.spec.intOr("interleaved", 0) != 0;
    job.whole_tables = args.spec.intOr("half", 0) == 0;
    takeHeads(op.get());
    op->rotate = rotateTokenSimd(args.target.isa);
    op->grain = grainFor(2 * job.heads * job.width);
    op->threads = args.target.threads;
    op->may_alias = true;
    op->flops = 3 * dims.count();
    return op;
  }

 private:
  // The rows of a tensor, or the first of them where a table has more than x.
  static TensorDesc rowsOf(const TensorDesc& tensor, const Dims& of) {
    TensorDesc rows = alignRank(tensor, of.rank);
    rows.dims[of.rank - 1] = 1;
    for (int axis = 0; axis < of.rank - 1; ++axis) rows.dims[axis] = std::min(rows.dims[axis], of[axis]);
    return rows;
  }

  // Makes a row of the innermost loop a head where all rows of it have the same angles and y is dense in it.
  static void takeHeads(RotaryOp* op) {
    LoopNest& rows = op->rows;
    const auto stride = [&](std::size_t tensor) { return rows.stride[tensor].back(); };
    if (stride(2) == 0 && stride(3) == 0 && (stride(0) == op->job.width || rows.size.back() == 1)) {
      op->job.heads = rows.size.back();
      op->job.head_stride = stride(1);
      return;
    }
    op->job.heads = 1;
    rows.size.push_back(1);
    for (std::vector<std::int64_t>& strides : rows.stride) strides.push_back(0);
  }
};

}  // namespace

std::unique_ptr<Kernel> makeRotarySimd() { return std::make_unique<RotarySimd>(); }

}  // namespace ipex_studio

#endif  // HWY_ONCE
