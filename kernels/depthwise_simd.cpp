// Depthwise convolution of channels-last images, in one or two dimensions, with any chain of post-operations while the
// result is in registers or the first-level cache. A vector of channels goes through the whole image: its lines are
// copied with their padding into a ring of as many as a window is high, where they lie densely and no window leaves the
// image. The sums of neighbouring pixels stay in registers; for usual kernels each value is loaded once per line of
// taps and used for all pixels that it reaches. Channels that do not fill a vector go through narrower ones, so that
// loads do not cross cache lines.
//
// Declines: device, dtype, rank, empty, not-depthwise, blocked-weights, weights-not-constant, bias-not-constant,
// post-ops (operands that broadcast along one of the spatial axes only).
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/depthwise_simd.cpp"
#include "kernels/highway_targets.h"

// highway_targets.h comes first.
#include <hwy/highway.h>

#include <algorithm>

#include "kernels/depthwise_job.h"
#include "kernels/depthwise_strip-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ipex_studio {
namespace HWY_NAMESPACE {

// The lines of one vector of channels that windows of the current line reach.
class LineRing {
 public:
  LineRing(const DepthwiseJob& job, float* memory) : job_(job), memory_(memory) {}

  // Empties the ring for vectors of D; places beside the image are zero from here on.
  template <class D>
  void clear(std::int64_t first_line) {
    constexpr std::int64_t kLanes = hn::MaxLanes(D());
    next_ = std::max<std::int64_t>(0, first_line);
    std::fill(memory_, memory_ + job_.ring_lines * job_.ring_width * kLanes, 0.0f);
  }

  // Copies lines up to and with `last`; x: the image at the vector's channel.
  template <class D>
  HWY_INLINE void fill(const float* x, std::int64_t last) {
    const D d;
    constexpr std::int64_t kLanes = hn::MaxLanes(d);
    // A line's end that no window reaches is left out.
    const std::int64_t skipped = std::max<std::int64_t>(0, -job_.padding[1]);
    const std::int64_t end = std::min(job_.in[1], job_.ring_width - job_.padding[1]);
    for (; next_ <= last && next_ < job_.in[0]; ++next_) {
      const float* const from = x + next_ * job_.x_stride[0];
      float* const to = at<D>(next_) + job_.padding[1] * kLanes;
      for (std::int64_t i = skipped; i < end; ++i)
        hn::Store(hn::LoadU(d, from + i * job_.x_stride[1]), d, to + i * kLanes);
    }
  }

  template <class D>
  HWY_INLINE float* at(std::int64_t line) const {
    return memory_ + line % job_.ring_lines * job_.ring_width * hn::MaxLanes(D());
  }

  // Lines that no window of the lines from `first` on reaches need no copy.
  void skipTo(std::int64_t first) { next_ = std::max(next_, first); }

 private:
  const DepthwiseJob& job_;
  float* memory_;
  std::int64_t next_ = 0;
};

// Lines [begin, end) of the result for the vector of channels at place.channel.
template <class D>
void runLines(const DepthwiseJob& job, const DepthwiseCall& call, std::int64_t begin, std::int64_t end, Place place,
              LineRing* ring, const float** lines) {
  constexpr std::int64_t kLanes = hn::MaxLanes(D());
  const StripRuns& runs = runsFor<D>(job);
  const float* const x = call.x + place.image * job.image_stride + place.channel;
  const std::int64_t width = job.out[1], strips = (width + kDepthwisePixels - 1) / kDepthwisePixels;
  const std::int64_t reach = (job.kernel[0] - 1) * job.dilation[0];
  Strip strip;
  strip.lines = lines;
  strip.taps = job.kernel[1];
  strip.tap_step = job.dilation[1] * kLanes;
  strip.pixel_step = job.stride[1] * kLanes;
  strip.w_tap_step = job.channels;
  strip.w_line_step = job.kernel[1] * job.channels;
  ring->clear<D>(begin * job.stride[0] - job.padding[0]);
  for (std::int64_t line = begin; line < end; ++line) {
    const std::int64_t first = line * job.stride[0] - job.padding[0];
    ring->skipTo(first);
    ring->fill<D>(x, first + reach);
    std::int64_t tap = 0;
    while (tap < job.kernel[0] && first + tap * job.dilation[0] < 0) ++tap;
    strip.w = call.weights + tap * strip.w_line_step + place.channel;
    strip.line_count = 0;
    for (; tap < job.kernel[0] && first + tap * job.dilation[0] < job.in[0]; ++tap) {
      lines[strip.line_count++] = ring->at<D>(first + tap * job.dilation[0]);
    }
    // Strips of nearly equal width: first the narrower ones.
    const std::int64_t narrow = width / strips, wide_count = width - narrow * strips;
    strip.offset = 0;
    place.pixel = line * width;
    runs.run[narrow](job, call, strip, place, strips - wide_count);
    if (wide_count == 0) continue;
    strip.offset = narrow * (strips - wide_count) * strip.pixel_step;
    place.pixel += narrow * (strips - wide_count);
    runs.run[narrow + 1](job, call, strip, place, wide_count);
  }
}

template <class D>
void runVectors(const DepthwiseJob& job, const DepthwiseCall& call, std::int64_t begin, std::int64_t end, Place* place,
                std::int64_t channel_end, LineRing* ring, const float** lines) {
  constexpr std::int64_t kLanes = hn::MaxLanes(D());
  for (; place->channel + kLanes <= channel_end; place->channel += kLanes) {
    runLines<D>(job, call, begin, end, *place, ring, lines);
  }
}

void runDepthwise(const DepthwiseJob& job, const DepthwiseCall& call, float* scratch, std::int64_t begin,
                  std::int64_t end) {
  using Full = hn::ScalableTag<float>;
  LineRing ring(job, scratch);
  const auto** const lines = reinterpret_cast<const float**>(scratch + job.ringFloats());
  for (std::int64_t unit = begin; unit < end; ++unit) {
    const std::int64_t piece = unit % job.pieces, band = unit / job.pieces % job.bands;
    Place place;
    place.image = unit / job.pieces / job.bands;
    place.channel = piece * job.piece;
    const std::int64_t channel_end = std::min(job.channels, place.channel + job.piece);
    const std::int64_t line_begin = job.out[0] * band / job.bands, line_end = job.out[0] * (band + 1) / job.bands;
    // Vectors of 16 only where they lie in cache lines.
    if (hn::MaxLanes(Full()) < 16 || job.channels % 16 == 0) {
      runVectors<Full>(job, call, line_begin, line_end, &place, channel_end, &ring, lines);
    }
    runVectors<hn::CappedTag<float, 8>>(job, call, line_begin, line_end, &place, channel_end, &ring, lines);
    runVectors<hn::CappedTag<float, 4>>(job, call, line_begin, line_end, &place, channel_end, &ring, lines);
    runVectors<hn::CappedTag<float, 1>>(job, call, line_begin, line_end, &place, channel_end, &ring, lines);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace ipex_studio
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "kernels/convolution_geometry.h"
#include "kernels/factories.h"
#include "kernels/parallel.h"

namespace ipex_studio {
namespace {

HWY_EXPORT(runDepthwise);

class DepthwiseOp final : public PreparedOp {
 public:
  DepthwiseJob job;
  DepthwiseRun run = nullptr;
  std::int32_t threads = 1;
  std::int64_t grain = 1;
  WeightCache::Packed weights, bias;

  void execute(ExecState*, const void* const* from, void* const* to, void* scratch) const override {
    DepthwiseCall call;
    call.x = static_cast<const float*>(from[kSrc]);
    call.weights = static_cast<const float*>(weights->data());
    call.bias = static_cast<const float*>(bias->data());
    call.src = from;
    call.dst = static_cast<float*>(to[0]);
    parallelFor(job.units(), grain, threads, [&](std::int64_t begin, std::int64_t end, int thread) {
      run(job, call, static_cast<float*>(scratch) + thread * job.scratchFloats(), begin, end);
    });
  }
};

// w[C, 1, k…] as [tap][C].
void packTaps(const DepthwiseJob& job, const TensorDesc& w, const float* data, void* packed) {
  float* to = static_cast<float*>(packed);
  const int last = w.dims.rank - 1;
  for (std::int64_t y = 0; y < job.kernel[0]; ++y) {
    for (std::int64_t x = 0; x < job.kernel[1]; ++x) {
      const std::int64_t tap = x * w.strides[last] + (last > 2 ? y * w.strides[last - 1] : 0);
      for (std::int64_t c = 0; c < job.channels; ++c) *to++ = data[c * w.strides[0] + tap];
    }
  }
}

void packBias(std::int64_t channels, const float* data, void* packed) {
  float* const to = static_cast<float*>(packed);
  for (std::int64_t c = 0; c < channels; ++c) to[c] = data != nullptr ? data[c] : 0.0f;
}

class DepthwiseSimd final : public Kernel {
 public:
  const char* name() const override { return "convolution_depthwise_simd"; }
  bool onlyWhenMeasured() const override { return true; }

  Verdict supports(const PrepareArgs& args) const override {
    const Verdict verdict = takesPackedWeights(args);
    if (!verdict.ok) return verdict;
    const TensorDesc &x = args.src[kSrc], &w = args.src[kWeights];
    if (x.dims.rank < 3 || x.dims.rank > 4) return Verdict::no("rank");
    const std::int64_t groups = args.spec.intOr("groups", 1);
    if (groups != w.dims[0] || groups != x.dims[1] || w.dims[1] != 1) return Verdict::no("not-depthwise");
    return Verdict::yes();
  }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string* reason) const override {
    const TensorDesc dst = channelsLastDesc(DType::kF32, args.dst[0].dims);
    auto op = std::make_unique<DepthwiseOp>();
    op->src = args.src;
    TensorDesc& x = op->src[kSrc];
    if (x.block != 0 || x.strides[1] != 1) x = channelsLastDesc(DType::kF32, x.dims);
    op->dst = {dst};
    op->packed.assign(args.src.size(), false);
    describeWindow(args, x, &op->job);
    if (!planChain(args, dst, op.get())) {
      *reason = "post-ops";
      return nullptr;
    }
    planUnits(args.target.threads, op.get());
    pack(args, op.get());
    op->run = IPEX_SELECT_TARGET(runDepthwise, args.target.isa);
    op->flops = 2 * dst.dims.count() * op->job.kernel[0] * op->job.kernel[1];
    return op;
  }

 private:
  static void describeWindow(const PrepareArgs& args, const TensorDesc& x, DepthwiseJob* job) {
    const int spatial = x.dims.rank - 2;
    const onednn::ConvolutionGeometry geometry = convolutionGeometry(args.spec, spatial);
    job->images = x.dims[0];
    job->channels = x.dims[1];
    job->image_stride = x.strides[0];
    for (int axis = 0; axis < spatial; ++axis) {
      const int to = 2 - spatial + axis;
      job->in[to] = x.dims[2 + axis];
      job->out[to] = args.dst[0].dims[2 + axis];
      job->kernel[to] = args.src[kWeights].dims[2 + axis];
      job->stride[to] = geometry.stride[axis];
      job->dilation[to] = geometry.dilation[axis] + 1;
      job->padding[to] = geometry.padding_begin[axis];
      job->x_stride[to] = x.strides[2 + axis];
    }
  }

  static bool planChain(const PrepareArgs& args, const TensorDesc& dst, DepthwiseOp* op) {
    GemmJob chain;
    chain.columns = op->job.channels;
    if (!describeOperands(args, dst, &op->src, &chain.operands)) return false;
    for (std::size_t s = kFirstPostOperand; s < args.src.size(); ++s) {
      if (args.src_dies[s] && op->src[s].dims == dst.dims && op->in_place_src < 0) op->in_place_src = static_cast<std::int32_t>(s);
    }
    planPostOps(args.spec.post_ops, &chain);
    DepthwiseJob& job = op->job;
    job.addend = chain.addend;
    job.activation = chain.activation;
    job.low = chain.low;
    job.high = chain.high;
    job.tail = std::move(chain.tail);
    job.operands = std::move(chain.operands);
    job.pointwise = pointwiseApply(args.target.isa);
    return true;
  }

  static void planUnits(std::int32_t threads, DepthwiseOp* op) {
    DepthwiseJob& job = op->job;
    constexpr std::int64_t kWidest = 16;
    job.piece = kWidest;
    job.pieces = (job.channels + job.piece - 1) / job.piece;
    // Few pieces: lines are shared out too, so that threads have equal parts.
    const std::int64_t wanted = threads == 1 ? 1 : 4 * threads;
    job.bands = std::clamp<std::int64_t>(wanted / (job.images * job.pieces), 1, job.out[0]);
    op->threads = threads;
    job.ring_lines = (job.kernel[0] - 1) * job.dilation[0] + 1;
    job.ring_width = (job.out[1] - 1) * job.stride[1] + (job.kernel[1] - 1) * job.dilation[1] + 1;
    op->scratch_bytes = threads * job.scratchFloats() * sizeof(float);
    constexpr std::int64_t kValuesPerOp = 4;  // vectors do better than the scalar operations that grains count
    const std::int64_t values = job.out[0] * job.out[1] * job.piece / job.bands;
    op->grain = grainFor(values * job.kernel[0] * job.kernel[1] / kValuesPerOp);
  }

  static void pack(const PrepareArgs& args, DepthwiseOp* op) {
    const DepthwiseJob& job = op->job;
    const TensorDesc& w_desc = args.src[kWeights];
    const auto* const w = static_cast<const float*>(args.constant[kWeights]);
    const std::string form = "depthwise taps " + w_desc.dims.str() + " strides " + w_desc.strides.str();
    const auto floats = [](std::int64_t count) { return static_cast<std::size_t>(count) * sizeof(float); };
    op->weights = args.weights->getOrPack(w, form, floats(job.kernel[0] * job.kernel[1] * job.channels),
                                          [&](void* packed) { packTaps(job, w_desc, w, packed); });
    op->packed[kWeights] = true;
    const bool has_bias = !args.src[kBias].absent();
    const auto* const b = has_bias ? static_cast<const float*>(args.constant[kBias]) : nullptr;
    op->bias = args.weights->getOrPack(b != nullptr ? b : w, "depthwise bias " + std::to_string(job.channels), floats(job.channels),
                                       [&](void* packed) { packBias(job.channels, b, packed); });
    op->packed[kBias] = has_bias;
  }
};

}  // namespace

std::unique_ptr<Kernel> makeConvolutionDepthwiseSimd() { return std::make_unique<DepthwiseSimd>(); }

}  // namespace ipex_studio

#endif  // HWY_ONCE
