// Depthwise convolution of channels-last images, in one or two dimensions, with any chain of post-operations while the
// result is in registers or the first-level cache. A vector of channels goes through the whole image: its lines are
// copied with their padding into a ring of as many as a window is high, where they lie densely and no window leaves the
// image. The sums of neighbouring pixels stay in registers; for usual kernels each value is loaded once per line of
// taps and used for all pixels that it reaches. Channels that do not fill a vector go through narrower ones, so that
// loads do not cross cache lines. Images, weights, operands and results of BF16 are floats on the way.
//
// Declines: dtype, rank, empty, not-depthwise, blocked-weights, weights-not-constant, bias-not-constant,
// post-ops (operands that broadcast along one of the spatial axes only).
#define HWY_TARGET_INCLUDE "kernels/depthwise/depthwise_simd.cpp"
#include "kernels/common/simd-inl.h"

#include <algorithm>

#include "kernels/common/bf16-inl.h"
#include "kernels/depthwise/depthwise_job.h"
#include "kernels/depthwise/depthwise_lines-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ipex_studio::HWY_NAMESPACE {

// Lines of an image of T that lies in memory. Vectors of 16 bf16 seldom cross cache lines.
template <class T>
struct CopiedLines {
  const DepthwiseJob& job;
  const T* x;
  static constexpr bool kWidest = sizeof(T) < sizeof(float);

  template <class D>
  HWY_INLINE void make(const DepthwisePlace& place, std::int64_t line, std::int64_t begin, std::int64_t end,
                       float* to) const {
    const D d;
    constexpr std::int64_t kLanes = hn::MaxLanes(d);
    const T* const from = x + place.image * job.image_stride + line * job.x_stride[0] + place.channel;
    for (std::int64_t i = begin; i < end; ++i, to += kLanes)
      hn::Store(loadFloats(d, from + i * job.x_stride[1]), d, to);
  }
};

void runDepthwise(const DepthwiseJob& job, const DepthwiseCall& call, float* scratch, std::int64_t begin,
                  std::int64_t end) {
  runUnits(job, call, CopiedLines<float>{job, static_cast<const float*>(call.x)}, scratch, begin, end);
}

void runDepthwiseBf16(const DepthwiseJob& job, const DepthwiseCall& call, float* scratch, std::int64_t begin,
                      std::int64_t end) {
  runUnits(job, call, CopiedLines<std::uint16_t>{job, static_cast<const std::uint16_t*>(call.x)}, scratch, begin, end);
}

}  // namespace ipex_studio::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "core/op/kernel.h"
#include "kernels/common/bf16_products.h"
#include "kernels/common/parallel.h"

namespace ipex_studio {
namespace {

HWY_EXPORT(runDepthwise);
HWY_EXPORT(runDepthwiseBf16);

class DepthwiseOp final : public PreparedOp {
 public:
  DepthwiseJob job;
  DepthwiseRun run = nullptr;
  std::int32_t threads = 1;
  std::int64_t grain = 1;
  DepthwiseWeights weights;

  void execute(ExecState*, const void* const* from, void* const* to, void* scratch) const override {
    DepthwiseCall call;
    call.x = from[kSrc];
    call.weights = static_cast<const float*>(weights.taps->data());
    call.bias = static_cast<const float*>(weights.bias->data());
    call.src = from;
    call.dst = to[0];
    parallelFor(job.units(), grain, threads, [&](std::int64_t begin, std::int64_t end, int thread) {
      run(job, call, static_cast<float*>(scratch) + thread * job.scratchFloats(), begin, end);
    });
  }
};

class DepthwiseSimd final : public Kernel {
 public:
  const char* name() const override { return "convolution_depthwise_simd"; }
  bool onlyWhenMeasured() const override { return true; }

  Verdict supports(const PrepareArgs& args) const override {
    const Verdict verdict = readsBf16(args) ? takesPackedBf16(args) : takesPackedWeights(args);
    if (!verdict.ok) return verdict;
    const TensorDesc &x = args.src[kSrc], &w = args.src[kWeights];
    if (x.dims.rank < 3 || x.dims.rank > 4) return Verdict::no("rank");
    const std::int64_t groups = args.spec.intOr("groups", 1);
    if (groups != w.dims[0] || groups != x.dims[1] || w.dims[1] != 1) return Verdict::no("not-depthwise");
    return Verdict::yes();
  }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string* reason) const override {
    const TensorDesc dst = channelsLastDesc(args.dst[0].dtype, args.dst[0].dims);
    auto op = std::make_unique<DepthwiseOp>();
    op->src = args.src;
    TensorDesc& x = op->src[kSrc];
    if (x.block != 0 || x.strides[1] != 1) x = channelsLastDesc(x.dtype, x.dims);
    op->dst = {dst};
    op->packed.assign(args.src.size(), false);
    describeWindow(args.spec, x, args.src[kWeights].dims, args.dst[0].dims, &op->job);
    if (!planChain(args, dst, op.get())) {
      *reason = "post-ops";
      return nullptr;
    }
    planUnits(args.target.threads, op.get());
    op->weights = packDepthwise({kWeights, kBias}, args, op->job, &op->packed);
    op->run = readsBf16(args) ? IPEX_SELECT_TARGET(runDepthwiseBf16, args.target.isa)
                              : IPEX_SELECT_TARGET(runDepthwise, args.target.isa);
    op->flops = 2 * dst.dims.count() * op->job.kernel[0] * op->job.kernel[1];
    return op;
  }

 private:
  static bool readsBf16(const PrepareArgs& args) { return args.src[kSrc].dtype == DType::kBf16; }

  static bool planChain(const PrepareArgs& args, const TensorDesc& dst, DepthwiseOp* op) {
    GemmJob chain;
    chain.columns = op->job.channels;
    chain.result = dst.dtype;
    if (!describeOperands(args, dst, &op->src, &chain.operands)) return false;
    for (std::size_t s = kFirstPostOperand; s < args.src.size(); ++s) {
      if (args.src_dies[s] && op->src[s].dims == dst.dims && op->src[s].dtype == dst.dtype && op->in_place_src < 0)
        op->in_place_src = static_cast<std::int32_t>(s);
      op->job.operand_types.push_back(args.src[s].dtype);
    }
    planPostOps(args.spec.post_ops, &chain);
    DepthwiseJob& job = op->job;
    job.result = dst.dtype;
    job.native_bf16 = mayUseBf16Products(args.target.isa);
    job.smooth = chain.smooth;
    job.addend = chain.addend;
    job.operands = std::move(chain.operands);
    takePostOps(std::move(chain), &job);
    job.pointwise = pointwiseApply(args.target.isa);
    return true;
  }

  static void planUnits(std::int32_t threads, DepthwiseOp* op) {
    DepthwiseJob& job = op->job;
    constexpr std::int64_t kWidest = 16;
    job.piece = kWidest;
    job.pieces = (job.channels + job.piece - 1) / job.piece;
    // With few pieces lines are divided, too, so that threads have equal parts.
    const std::int64_t wanted = threads == 1 ? 1 : 4 * threads;
    job.bands = std::clamp<std::int64_t>(wanted / (job.images * job.pieces), 1, job.out[0]);
    op->threads = threads;
    op->scratch_bytes = threads * job.scratchFloats() * sizeof(float);
    constexpr std::int64_t kValuesPerOp = 4;  // vectors do better than the scalar operations that grains count
    const std::int64_t values = job.out[0] * job.out[1] * job.piece / job.bands;
    op->grain = grainFor(values * job.kernel[0] * job.kernel[1] / kValuesPerOp);
  }
};

}  // namespace

std::unique_ptr<Kernel> makeConvolutionDepthwiseSimd() { return std::make_unique<DepthwiseSimd>(); }

}  // namespace ipex_studio

#endif  // HWY_ONCE
