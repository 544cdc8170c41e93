// y = x·wᵀ + b for a few rows of x, straight from the row-major weights: such a product is bound by reading w once. w
// is read as a few long streams, each through its own part of the rows: neighbouring rows side by side start a new
// stream at every row and reach half the bandwidth from memory when rows are short. Software prefetching only costs.
// Serves linear layers and 1×1 convolutions of images of one pixel. Post-operations follow as one pointwise pass.
//
// Declines: dtype, empty, rows, weights-layout, not-one-pixel, and what the pointwise kernel declines.
#define HWY_TARGET_INCLUDE "kernels/gemm/gemv_simd.cpp"
#include "kernels/common/simd-inl.h"

#include <algorithm>

#include "kernels/common/partial_vector-inl.h"
#include "kernels/gemm/gemv_job.h"

HWY_BEFORE_NAMESPACE();
namespace ipex_studio::HWY_NAMESPACE {

// Accumulators must fit the registers: 32 with AVX-512, otherwise 16.
constexpr int streamsFor(int rows) { return rows <= 2 || HWY_TARGET <= HWY_AVX3 ? 4 : 2; }

// Computes kRows rows of x times kStreams rows of w that lie `distance` rows apart; the results lie as far apart.
template <int kRows, int kStreams>
HWY_INLINE void multiply(const GemvJob& job, const float* x, const float* w, const float* bias, float* y,
                         std::int64_t distance) {
  const F32 d;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const std::int64_t w_distance = distance * job.w_stride;
  VF sum[kStreams][kRows];
  for (auto& stream : sum) {
    for (VF& value : stream) value = hn::Zero(d);
  }
  const auto step = [&](std::int64_t k, const auto& load) HWY_ATTR {
    VF v[kRows];
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) v[r] = load(x + r * job.x_stride + k);
#pragma GCC unroll 4
    for (int s = 0; s < kStreams; ++s) {
      const VF weights = load(w + s * w_distance + k);
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) sum[s][r] = hn::MulAdd(weights, v[r], sum[s][r]);
    }
  };
  std::int64_t k = 0;
  for (; k + lanes <= job.depth; k += lanes) step(k, [d](const float* from) HWY_ATTR { return hn::LoadU(d, from); });
  if (const std::int64_t rest = job.depth - k; rest > 0) {
    step(k, [rest](const float* from) HWY_ATTR { return loadFirst(from, rest); });
  }
#pragma GCC unroll 4
  for (int s = 0; s < kStreams; ++s) {
    const float offset = bias != nullptr ? bias[s * distance] : 0.0f;
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      y[r * job.columns + s * distance] = hn::GetLane(hn::SumOfLanes(d, sum[s][r])) + offset;
    }
  }
}

template <int kRows>
void multiplyRows(const GemvJob& job, const float* x, const float* w, const float* bias, float* y, std::int64_t begin,
                  std::int64_t end) {
  constexpr int kStreams = streamsFor(kRows);
  const auto biasAt = [bias](std::int64_t n) { return bias != nullptr ? bias + n : nullptr; };
  const std::int64_t distance = (end - begin) / kStreams;
  for (std::int64_t n = begin; n < begin + distance; ++n) {
    multiply<kRows, kStreams>(job, x, w + n * job.w_stride, biasAt(n), y + n, distance);
  }
  for (std::int64_t n = begin + distance * kStreams; n < end; ++n) {
    multiply<kRows, 1>(job, x, w + n * job.w_stride, biasAt(n), y + n, 0);
  }
}

// Computes columns [begin, end) of y.
void runGemv(const GemvJob& job, const float* x, const float* w, const float* bias, float* y, std::int64_t begin,
             std::int64_t end) {
  switch (job.rows) {
    case 1:
      return multiplyRows<1>(job, x, w, bias, y, begin, end);
    case 2:
      return multiplyRows<2>(job, x, w, bias, y, begin, end);
    case 3:
      return multiplyRows<3>(job, x, w, bias, y, begin, end);
    default:
      return multiplyRows<4>(job, x, w, bias, y, begin, end);
  }
}

}  // namespace ipex_studio::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "kernels/common/kernel_parts.h"
#include "kernels/common/layer_operands.h"
#include "kernels/common/matrix_rows.h"
#include "kernels/common/parallel.h"
#include "kernels/common/pointwise_tail.h"

namespace ipex_studio {
namespace {

HWY_EXPORT(runGemv);

// With cold weights the library's matmul over packed weights catches up at four rows; its convolution does not.
constexpr std::int64_t kMaxLinearRows = 3, kMaxImages = kGemvMaxRows;

class GemvOp final : public PreparedOp {
 public:
  GemvJob job;
  GemvRun run = nullptr;
  std::int64_t grain = 1;  // columns
  std::int32_t threads = 1;
  PointwiseTail tail;

  std::unique_ptr<ExecState> newState() const override { return tail.newState(); }

  void execute(ExecState* state, const void* const* from, void* const* to, void* scratch) const override {
    const float* const x = static_cast<const float*>(from[kSrc]);
    const float* const w = static_cast<const float*>(from[kWeights]);
    const float* const bias = src[kBias].absent() ? nullptr : static_cast<const float*>(from[kBias]);
    float* const y = tail.product(to[0], scratch);
    parallelFor(job.columns, grain, threads,
                [&](std::int64_t begin, std::int64_t end, int) { run(job, x, w, bias, y, begin, end); });
    tail.execute(state, from, to, scratch);
  }
};

// Shared by linear layers and convolutions once x is a matrix.
class GemvKernel : public Kernel {
 public:
  explicit GemvKernel(const Kernel* pointwise) : pointwise_(pointwise) {}

 protected:
  static Verdict supportsOperands(const PrepareArgs& args) {
    for (const TensorDesc& src : args.src) {
      if (!src.absent() && src.dtype != DType::kF32) return Verdict::no("dtype");
    }
    if (args.dst[0].dtype != DType::kF32) return Verdict::no("dtype");
    if (args.src[kSrc].dims.count() == 0 || args.dst[0].dims.count() == 0) return Verdict::no("empty");
    const TensorDesc& w = args.src[kWeights];
    const bool dense_rows = w.block == 0 && (w.dims[1] == 1 || w.strides[1] == 1);
    return dense_rows ? Verdict::yes() : Verdict::no("weights-layout");
  }

  // Makes the operation. `x`: the layout in which x is read, `x_stride` from row to row.
  std::unique_ptr<PreparedOp> build(const PrepareArgs& args, const TensorDesc& x, std::int64_t x_stride,
                                    std::string* reason) const {
    const TensorDesc& w = args.src[kWeights];
    auto op = std::make_unique<GemvOp>();
    op->src = args.src;
    op->src[kSrc] = x;
    if (!args.src[kBias].absent()) op->src[kBias] = contiguousDesc(DType::kF32, args.src[kBias].dims);
    op->packed.assign(args.src.size(), false);
    op->job.columns = w.dims[0];
    op->job.depth = w.dims[1];
    op->job.rows = args.dst[0].dims.count() / op->job.columns;
    op->job.x_stride = x_stride;
    op->job.w_stride = w.dims[0] == 1 ? w.dims[1] : w.strides[0];
    op->run = IPEX_SELECT_TARGET(runGemv, args.target.isa);
    op->threads = args.target.threads;
    constexpr std::int64_t kFloatsPerOp = 4;  // vectors do better than the scalar operations that grains count
    op->grain = grainFor(op->job.depth * op->job.rows / kFloatsPerOp);
    op->flops = 2 * args.dst[0].dims.count() * op->job.depth;
    return op->tail.prepare(*pointwise_, args, kFirstPostOperand, op.get(), reason) ? std::move(op) : nullptr;
  }

 private:
  const Kernel* pointwise_;
};

class LinearGemvSimd final : public GemvKernel {
 public:
  using GemvKernel::GemvKernel;
  const char* name() const override { return "linear_gemv_simd"; }

  Verdict supports(const PrepareArgs& args) const override {
    const Verdict operands = supportsOperands(args);
    if (!operands.ok) return operands;
    return rowsOf(args.src[kSrc].dims) <= kMaxLinearRows ? Verdict::yes() : Verdict::no("rows");
  }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string* reason) const override {
    bool as_given = false;
    const TensorDesc matrix = asMatrix(args.src[kSrc], &as_given);
    const TensorDesc x = as_given ? args.src[kSrc] : contiguousDesc(DType::kF32, args.src[kSrc].dims);
    return build(args, x, matrix.strides[0], reason);
  }
};

class ConvolutionGemvSimd final : public GemvKernel {
 public:
  using GemvKernel::GemvKernel;
  const char* name() const override { return "convolution_gemv_simd"; }

  Verdict supports(const PrepareArgs& args) const override {
    const Verdict operands = supportsOperands(args);
    if (!operands.ok) return operands;
    const Dims &x = args.src[kSrc].dims, &w = args.src[kWeights].dims, &y = args.dst[0].dims;
    // With padding in front the window of the only result could miss the pixel.
    const std::vector<std::int64_t> padding = args.spec.ints("padding");
    const bool padded = std::any_of(padding.begin(), padding.end(), [](std::int64_t p) { return p != 0; });
    if (padded || args.spec.intOr("groups", 1) != 1 || x.count() != x[0] * x[1] || w.count() != w[0] * w[1] ||
        y.count() != y[0] * y[1]) {
      return Verdict::no("not-one-pixel");
    }
    return x[0] <= kMaxImages ? Verdict::yes() : Verdict::no("rows");
  }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string* reason) const override {
    const TensorDesc& x = args.src[kSrc];
    // Consecutive blocks are dense channels, too; a row may be longer than its channels.
    const bool dense_channels =
        x.block == 0 ? x.dims[1] == 1 || x.strides[1] == 1 : x.dims[1] <= x.block || x.strides[1] == x.block;
    const TensorDesc read = dense_channels ? x : contiguousDesc(DType::kF32, x.dims);
    return build(args, read, read.strides[0], reason);
  }
};

}  // namespace

std::unique_ptr<Kernel> makeLinearGemvSimd(const KernelParts& parts) {
  return std::make_unique<LinearGemvSimd>(parts.first);
}

std::unique_ptr<Kernel> makeConvolutionGemvSimd(const KernelParts& parts) {
  return std::make_unique<ConvolutionGemvSimd>(parts.first);
}

}  // namespace ipex_studio

#endif  // HWY_ONCE
