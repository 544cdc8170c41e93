// Layer norm, RMS norm and division by the length over trailing axes, with an added residual and optionally the sum as
// a second result. Without a residual the rows of x may lie anywhere, such as those of one head among the others.
//
// Declines: dtype, post-ops, empty.
#define HWY_TARGET_INCLUDE "kernels/norm/layer_norm_simd.cpp"
#include "kernels/common/simd-inl.h"

#include <algorithm>
#include <cmath>

#include "kernels/common/row_job.h"

HWY_BEFORE_NAMESPACE();
namespace ipex_studio::HWY_NAMESPACE {

// Sum of f(vector) over a row, in two chains of additions.
template <class F, class One>
HWY_INLINE float sumOver(const float* row, std::int64_t size, const F& f, const One& one) {
  const F32 d;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  VF a = hn::Zero(d), b = a;
  std::int64_t i = 0;
  for (; i + 2 * lanes <= size; i += 2 * lanes) {
    a = f(a, hn::LoadU(d, row + i));
    b = f(b, hn::LoadU(d, row + i + lanes));
  }
  for (; i + lanes <= size; i += lanes) a = f(a, hn::LoadU(d, row + i));
  float total = hn::GetLane(hn::SumOfLanes(d, hn::Add(a, b)));
  for (; i < size; ++i) total += one(row[i]);
  return total;
}

void addRows(const float* x, const float* residual, std::int64_t size, float* out) {
  const F32 d;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + lanes <= size; i += lanes)
    hn::StoreU(hn::Add(hn::LoadU(d, x + i), hn::LoadU(d, residual + i)), d, out + i);
  for (; i < size; ++i) out[i] = x[i] + residual[i];
}

void normalizeRow(const float* row, std::int64_t size, float mean, float factor, const float* gamma, const float* beta,
                  float* y) {
  const F32 d;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const VF m = hn::Set(d, mean), f = hn::Set(d, factor);
  std::int64_t i = 0;
  for (; i + lanes <= size; i += lanes) {
    VF v = hn::Mul(hn::Sub(hn::LoadU(d, row + i), m), f);
    if (gamma) v = hn::Mul(v, hn::LoadU(d, gamma + i));
    if (beta) v = hn::Add(v, hn::LoadU(d, beta + i));
    hn::StoreU(v, d, y + i);
  }
  for (; i < size; ++i) y[i] = (row[i] - mean) * factor * (gamma ? gamma[i] : 1.0f) + (beta ? beta[i] : 0.0f);
}

// The factor by which a row's values are multiplied after their mean is subtracted.
float factorOf(const LayerNormJob& job, float squares) {
  if (job.norm == RowNorm::kLength) return 1.0f / std::max(std::sqrt(squares), job.eps);
  return 1.0f / std::sqrt(squares / static_cast<float>(job.size) + job.eps);
}

void normalizeOne(const LayerNormJob& job, const float* row, const float* gamma, const float* beta, float* y) {
  const F32 d;
  const std::int64_t n = job.size;
  float mean = 0;
  if (job.norm == RowNorm::kDeviation) {
    const auto add = [](VF a, VF v) HWY_ATTR { return hn::Add(a, v); };
    mean = sumOver(row, n, add, [](float v) { return v; }) / static_cast<float>(n);
  }
  const VF m = hn::Set(d, mean);
  const auto addSquare = [m](VF a, VF v) HWY_ATTR {
    const VF c = hn::Sub(v, m);
    return hn::MulAdd(c, c, a);
  };
  const float squares = sumOver(row, n, addSquare, [mean](float v) { return (v - mean) * (v - mean); });
  normalizeRow(row, n, mean, factorOf(job, squares), gamma, beta, y);
}

// Rows [begin, end). residual, gamma, beta and sum may be null.
void runLayerNorm(const LayerNormJob& job, const float* const* src, float* y, float* sum, std::int64_t begin,
                  std::int64_t end) {
  const std::int64_t n = job.size, outer = job.rows.loops() - 1, run = job.rows.size[outer],
                     stride = job.rows.stride[1][outer];
  const float* row = nullptr;
  std::int64_t left = 0;  // rows of a run whose first address was computed
  for (std::int64_t r = begin; r < end; ++r, --left, row += stride) {
    if (left == 0) {
      row = src[0] + job.rows.offset(1, r, outer + 1);
      left = run - r % run;
    }
    const float* normalized = row;
    if (src[3]) {
      float* added = (sum ? sum : y) + r * n;
      addRows(row, src[3] + r * n, n, added);
      normalized = added;
    }
    normalizeOne(job, normalized, src[1], src[2], y + r * n);
  }
}

}  // namespace ipex_studio::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "core/op/kernel.h"
#include "kernels/common/parallel.h"
#include "kernels/norm/row_norm.h"

namespace ipex_studio {
namespace {

HWY_EXPORT(runLayerNorm);

constexpr int kSources = 4;  // x, gamma, beta, residual

class LayerNormOp final : public PreparedOp {
 public:
  LayerNormJob job;
  LayerNormRun run = nullptr;
  std::int64_t rows = 0, grain = 1;
  std::int32_t threads = 1;

  void execute(ExecState*, const void* const* from, void* const* to, void*) const override {
    const float* sources[kSources];
    for (int s = 0; s < kSources; ++s) sources[s] = src[s].absent() ? nullptr : static_cast<const float*>(from[s]);
    float* const sum = dst.size() > 1 ? static_cast<float*>(to[1]) : nullptr;
    parallelFor(rows, grain, threads, [&](std::int64_t begin, std::int64_t end, int) {
      run(job, sources, static_cast<float*>(to[0]), sum, begin, end);
    });
  }
};

// The first value of each row.
TensorDesc firstOfRows(TensorDesc desc, int axes) {
  for (int axis = desc.dims.rank - axes; axis < desc.dims.rank; ++axis) desc.dims[axis] = 1;
  return desc;
}

class LayerNormSimd final : public Kernel {
 public:
  const char* name() const override { return "layer_norm_simd"; }

  Verdict supports(const PrepareArgs& args) const override {
    for (const TensorDesc& src : args.src) {
      if (!src.absent() && src.dtype != DType::kF32) return Verdict::no("dtype");
    }
    if (!args.spec.post_ops.empty()) return Verdict::no("post-ops");
    return args.src[0].dims.count() > 0 ? Verdict::yes() : Verdict::no("empty");
  }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string* reason) const override {
    auto op = std::make_unique<LayerNormOp>();
    for (const TensorDesc& src : args.src) {
      op->src.push_back(src.absent() ? src : contiguousDesc(DType::kF32, src.dims));
    }
    for (const TensorDesc& dst : args.dst) op->dst.push_back(contiguousDesc(DType::kF32, dst.dims));
    op->packed.assign(args.src.size(), false);
    const Dims& dims = args.src[0].dims;
    const int axes = static_cast<int>(args.spec.intOr("axes", 1)), last = dims.rank - 1;
    const TensorDesc& given = args.src[0];
    if (axes == 1 && args.src[3].absent() && given.block == 0 && given.strides[last] == 1) op->src[0] = given;
    LayerNormJob& job = op->job;
    if (!makeLoopNest({firstOfRows(op->dst[0], axes), firstOfRows(op->src[0], axes)}, &job.rows)) {
      *reason = "layout";
      return nullptr;
    }
    job.size = 1;
    for (int axis = dims.rank - axes; axis < dims.rank; ++axis) job.size *= dims[axis];
    job.eps = static_cast<float>(args.spec.floatOr("eps", 1e-5));
    job.norm = args.spec.intOr("l2", 0) != 0    ? RowNorm::kLength
               : args.spec.intOr("rms", 0) != 0 ? RowNorm::kRootMeanSquare
                                                : RowNorm::kDeviation;
    op->rows = dims.count() / job.size;
    op->run = IPEX_SELECT_TARGET(runLayerNorm, args.target.isa);
    op->threads = args.target.threads;
    op->grain = grainFor(job.size);
    // With one row gamma has the size of the result and may not share its memory: it is read after the sum with the
    // residual was written.
    op->may_alias = op->rows > 1 || args.src[3].absent();
    op->flops = 6 * dims.count();
    return op;
  }
};

}  // namespace

LayerNormRun layerNormSimd(const std::string& isa) { return IPEX_SELECT_TARGET(runLayerNorm, isa); }

std::unique_ptr<Kernel> makeLayerNormSimd() { return std::make_unique<LayerNormSimd>(); }

}  // namespace ipex_studio

#endif  // HWY_ONCE
