// A 1x1 convolution whose result only a depthwise convolution reads, as one operation: lines of the expanded image are
// computed for one vector of channels, straight into the ring that the depthwise windows slide over, and so never leave
// the first-level cache. The source is read once for each vector of channels, which its reuse in registers hides.
// Threads take vectors of channels; where those are few, also bands of lines, whose first windows compute some lines
// again. The scheme is depth-first execution of two layers (Alwani et al., Fused-Layer CNN Accelerators, 2016).
//
// Declines: dtype, rank, empty, not-expanding, not-depthwise, dilation, blocked-weights, weights-not-constant,
// bias-not-constant, post-ops (those on two tensors).
#define HWY_TARGET_INCLUDE "kernels/depthwise/pointwise_depthwise_simd.cpp"
#include "kernels/common/simd-inl.h"

#include <hwy/cache_control.h>

#include <algorithm>

#include "kernels/depthwise/depthwise_lines-inl.h"
#include "kernels/depthwise/pointwise_depthwise_job.h"

HWY_BEFORE_NAMESPACE();
namespace ipex_studio::HWY_NAMESPACE {

// Pixels whose sums for one vector of channels stay in registers.
constexpr int kExpandPixels = HWY_TARGET <= HWY_AVX3 ? 14 : 12;

// Computes `count` strips of kPixels neighbouring pixels: products with one vector of channels, bias and activation.
template <int kPixels, class D>
void expandStrips(const PointwiseDepthwiseJob& job, const float* x, const float* weights, const float* bias,
                  std::int64_t count, float* to) {
  const D d;
  using V = hn::Vec<D>;
  constexpr std::int64_t kLanes = hn::MaxLanes(d);
  const V first = hn::LoadU(d, bias);
  const auto step = static_cast<std::int64_t>(job.depthwise.x_stride[1] * sizeof(float));
  for (; count > 0; --count, x += kPixels * job.depthwise.x_stride[1], to += kPixels * kLanes) {
    V sum[kPixels];
#pragma GCC unroll 16
    for (int p = 0; p < kPixels; ++p) sum[p] = first;
    // Three pixels to a base: base, base + step and base + 2 · step are addresses of one instruction.
    constexpr int kBases = (kPixels + 2) / 3;
    const char* base[kBases];
    base[0] = reinterpret_cast<const char*>(x);
#pragma GCC unroll 8
    for (int i = 1; i < kBases; ++i) base[i] = base[i - 1] + 3 * step;
    const float* w = weights;
    for (std::int64_t k = job.depth; k > 0; --k, w += kExpandBlock) {
      const V weight = hn::LoadU(d, w);
#pragma GCC unroll 16
      for (int p = 0; p < kPixels; ++p) {
        const float value = *reinterpret_cast<const float*>(base[p / 3] + p % 3 * step);
        sum[p] = hn::MulAdd(hn::Set(d, value), weight, sum[p]);
      }
#pragma GCC unroll 8
      for (int i = 0; i < kBases; ++i) base[i] += sizeof(float);
    }
#pragma GCC unroll 16
    for (int p = 0; p < kPixels; ++p) hn::Store(activate(d, job, sum[p]), d, to + p * kLanes);
  }
}

using ExpandRun = void (*)(const PointwiseDepthwiseJob& job, const float* x, const float* weights, const float* bias,
                           std::int64_t count, float* to);

struct ExpandRuns {
  ExpandRun run[kExpandPixels + 1] = {};
};

template <class D, int kPixels>
constexpr void fillExpandRuns(ExpandRuns* runs) {
  runs->run[kPixels] = &expandStrips<kPixels, D>;
  if constexpr (kPixels > 1) fillExpandRuns<D, kPixels - 1>(runs);
}

template <class D>
constexpr ExpandRuns makeExpandRuns() {
  ExpandRuns runs;
  fillExpandRuns<D, kExpandPixels>(&runs);
  return runs;
}

// Lines of the expanded image, computed straight into the ring.
struct ExpandedLines {
  const PointwiseDepthwiseJob& job;
  const PointwiseDepthwiseCall& call;
  static constexpr bool kWidest = true;

  template <class D>
  void make(const DepthwisePlace& place, std::int64_t line, std::int64_t begin, std::int64_t end, float* to) const {
    static constexpr ExpandRuns kRuns = makeExpandRuns<D>();
    constexpr std::int64_t kLanes = hn::MaxLanes(D());
    const DepthwiseJob& image = job.depthwise;
    const float* const x = static_cast<const float*>(call.depthwise.x) + place.image * image.image_stride +
                           line * image.x_stride[0] + begin * image.x_stride[1];
    const float* const weights =
        call.weights + place.channel / kExpandBlock * kExpandBlock * job.depth + place.channel % kExpandBlock;
    const float* const bias = call.bias + place.channel;
    const std::int64_t width = end - begin;
    if (width <= 0) return;
    // Prefetches the next vector's weights, a share of them with each line.
    const float* const next = call.weights + (place.channel / kExpandBlock + 1) * kExpandBlock * job.depth;
    if (place.channel + kExpandBlock < image.channels) {
      for (std::int64_t k = job.depth * line / image.in[0]; k < job.depth * (line + 1) / image.in[0]; ++k)
        hwy::Prefetch(next + k * kExpandBlock);
    }
    // Strips of nearly equal width, the narrower ones first.
    const std::int64_t strips = (width + kExpandPixels - 1) / kExpandPixels, narrow = width / strips,
                       wide_count = width - narrow * strips;
    const std::int64_t turn = narrow * (strips - wide_count);
    kRuns.run[narrow](job, x, weights, bias, strips - wide_count, to);
    if (wide_count > 0)
      kRuns.run[narrow + 1](job, x + turn * image.x_stride[1], weights, bias, wide_count, to + turn * kLanes);
    PointwiseRows rows;
    rows.in = rows.out = to;
    rows.count = static_cast<std::size_t>(width * kLanes);
    for (const PostOp& op : job.tail) image.pointwise(op, rows);
  }
};

void runPointwiseDepthwise(const PointwiseDepthwiseJob& job, const PointwiseDepthwiseCall& call, float* scratch,
                           std::int64_t begin, std::int64_t end) {
  runUnits(job.depthwise, call.depthwise, ExpandedLines{job, call}, scratch, begin, end);
}

}  // namespace ipex_studio::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <fmt/format.h>

#include <limits>

#include "core/op/kernel.h"
#include "kernels/common/parallel.h"

namespace ipex_studio {
namespace {

HWY_EXPORT(runPointwiseDepthwise);

constexpr std::size_t kTaps = 3, kTapsBias = 4;  // sources after those of the 1x1 convolution

class PointwiseDepthwiseOp final : public PreparedOp {
 public:
  PointwiseDepthwiseJob job;
  PointwiseDepthwiseRun run = nullptr;
  std::int32_t threads = 1;
  std::int64_t grain = 1;
  DepthwiseWeights depthwise;
  WeightCache::Packed weights, bias;

  MemoryRange firstReads(std::int32_t thread) const override {
    const std::int64_t piece = job.depthwise.units() * thread / threads % job.depthwise.pieces,
                       block = job.depth * kExpandBlock;
    return {static_cast<const float*>(weights->data()) + piece * block,
            static_cast<std::size_t>(block) * sizeof(float)};
  }

  void execute(ExecState*, const void* const* from, void* const* to, void* scratch) const override {
    PointwiseDepthwiseCall call;
    call.weights = static_cast<const float*>(weights->data());
    call.bias = static_cast<const float*>(bias->data());
    call.depthwise.x = from[kSrc];
    call.depthwise.weights = static_cast<const float*>(depthwise.taps->data());
    call.depthwise.bias = static_cast<const float*>(depthwise.bias->data());
    call.depthwise.src = from;
    call.depthwise.dst = to[0];
    parallelFor(job.depthwise.units(), grain, threads, [&](std::int64_t begin, std::int64_t end, int thread) {
      run(job, call, static_cast<float*>(scratch) + thread * job.depthwise.scratchFloats(), begin, end);
    });
  }
};

// w[C, I, 1…] in blocks of channels.
void packExpansion(std::int64_t channels, std::int64_t depth, const TensorDesc& w, const float* data, void* packed) {
  float* to = static_cast<float*>(packed);
  for (std::int64_t block = 0; block < channels; block += kExpandBlock) {
    for (std::int64_t k = 0; k < depth; ++k) {
      for (std::int64_t c = block; c < block + kExpandBlock; ++c)
        *to++ = c < channels ? data[c * w.strides[0] + k * w.strides[1]] : 0.0f;
    }
  }
}

// Number of bands of lines for each vector of channels that minimizes the work of the slowest thread.
std::int64_t bandsFor(const DepthwiseJob& job, std::int64_t threads) {
  std::int64_t best = 1, least = std::numeric_limits<std::int64_t>::max();
  for (std::int64_t bands = 1; bands <= std::min(2 * threads, job.out[0]); ++bands) {
    const std::int64_t units = job.images * job.pieces * bands, lines = (job.out[0] + bands - 1) / bands;
    const std::int64_t made = std::min(job.in[0], (lines - 1) * job.stride[0] + job.ring_lines);
    const std::int64_t cost = (units + threads - 1) / threads * made;
    if (cost >= least) continue;
    least = cost;
    best = bands;
  }
  return best;
}

class PointwiseDepthwiseSimd final : public Kernel {
 public:
  const char* name() const override { return "pointwise_depthwise_simd"; }

  Verdict supports(const PrepareArgs& args) const override {
    const Verdict verdict = takesPackedWeights(args);
    if (!verdict.ok) return verdict;
    const TensorDesc &x = args.src[kSrc], &w = args.src[kWeights], &taps = args.src[kTaps];
    if (x.dims.rank < 3 || x.dims.rank > 4) return Verdict::no("rank");
    if (w.dims.count() != w.dims[0] * x.dims[1]) return Verdict::no("not-expanding");
    if (taps.dims[0] != w.dims[0] || taps.dims[1] != 1) return Verdict::no("not-depthwise");
    if (taps.block != 0) return Verdict::no("blocked-weights");
    if (args.constant[kTaps] == nullptr) return Verdict::no("weights-not-constant");
    if (!args.src[kTapsBias].absent() && args.constant[kTapsBias] == nullptr) return Verdict::no("bias-not-constant");
    for (const std::int64_t dilation : args.spec.ints("dilation")) {
      if (dilation != 1) return Verdict::no("dilation");
    }
    return args.src.size() > kTapsBias + 1 ? Verdict::no("post-ops") : Verdict::yes();
  }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string*) const override {
    const TensorDesc dst = channelsLastDesc(DType::kF32, args.dst[0].dims);
    auto op = std::make_unique<PointwiseDepthwiseOp>();
    op->src = args.src;
    TensorDesc& x = op->src[kSrc];
    if (x.block != 0 || x.strides[1] != 1) x = channelsLastDesc(DType::kF32, x.dims);
    op->dst = {dst};
    op->packed.assign(args.src.size(), false);
    DepthwiseJob& job = op->job.depthwise;
    describeWindow(args.spec, x, args.src[kTaps].dims, dst.dims, &job);
    op->job.depth = x.dims[1];
    planChains(args, &op->job);
    planUnits(args.target.threads, op.get());
    packConstants(args, op.get());
    op->run = IPEX_SELECT_TARGET(runPointwiseDepthwise, args.target.isa);
    op->flops = 2 * job.images * job.channels *
                (job.in[0] * job.in[1] * op->job.depth + job.out[0] * job.out[1] * job.kernel[0] * job.kernel[1]);
    return op;
  }

 private:
  static void planChains(const PrepareArgs& args, PointwiseDepthwiseJob* job) {
    GemmJob chain;
    PostOp activation;
    planPostOps(
        namedPostOp(args.spec, "activation", &activation) ? std::vector<PostOp>{activation} : std::vector<PostOp>(),
        &chain);
    takePostOps(std::move(chain), job);
    GemmJob last;
    planPostOps(args.spec.post_ops, &last);
    takePostOps(std::move(last), &job->depthwise);
    job->depthwise.pointwise = pointwiseApply(args.target.isa);
  }

  static void planUnits(std::int32_t threads, PointwiseDepthwiseOp* op) {
    DepthwiseJob& job = op->job.depthwise;
    job.piece = kExpandBlock;
    job.pieces = (job.channels + job.piece - 1) / job.piece;
    job.bands = bandsFor(job, threads);
    op->threads = threads;
    op->scratch_bytes = threads * job.scratchFloats() * sizeof(float);
    constexpr std::int64_t kValuesPerOp = 4;  // vectors do better than the scalar operations that grains count
    const std::int64_t expanded = job.in[0] * job.in[1] * op->job.depth,
                       slid = job.out[0] * job.out[1] * job.kernel[0] * job.kernel[1];
    op->grain = grainFor((expanded + slid) * job.piece / job.bands / kValuesPerOp);
  }

  static void packConstants(const PrepareArgs& args, PointwiseDepthwiseOp* op) {
    const std::int64_t channels = op->job.depthwise.channels, depth = op->job.depth;
    const TensorDesc& w_desc = args.src[kWeights];
    const auto* const w = static_cast<const float*>(args.constant[kWeights]);
    const std::int64_t blocks = (channels + kExpandBlock - 1) / kExpandBlock;
    const std::string form = fmt::format("expand {} {} strides {}", channels, depth, w_desc.strides.str());
    op->weights =
        args.weights->getOrPack(w, form, static_cast<std::size_t>(blocks * kExpandBlock * depth) * sizeof(float),
                                [&](void* to) { packExpansion(channels, depth, w_desc, w, to); });
    op->packed[kWeights] = true;
    op->bias = packChannels({kWeights, kBias}, args, channels, &op->packed);
    op->depthwise = packDepthwise({kTaps, kTapsBias}, args, op->job.depthwise, &op->packed);
  }
};

}  // namespace

std::unique_ptr<Kernel> makePointwiseDepthwiseSimd() { return std::make_unique<PointwiseDepthwiseSimd>(); }

}  // namespace ipex_studio

#endif  // HWY_ONCE
