// Depthwise convolution of channels-last images of u8 or s8, in one or two dimensions, with any chain of
// post-operations. A cache line of channels goes through the whole image: vector by vector its lines are copied into a
// ring of as many as a window is high, where each place holds the four taps that begin there, so that one instruction
// adds four of them.
// Places outside hold the zero point. Sums are exact (int8_gemm.h).
//
// Declines: dtype, rank, empty, not-depthwise, blocked-weights, weights-not-constant, depth, post-ops (operands
// that broadcast along one of the spatial axes only).
#define HWY_TARGET_INCLUDE "kernels/int8/depthwise_int8.cpp"
#include "kernels/common/simd-inl.h"

#include <algorithm>

#include "kernels/int8/int8_depthwise.h"
#include "kernels/int8/int8_tile-inl.h"
#include "kernels/int8/int8_vnni4_ring-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ipex_studio::HWY_NAMESPACE {

// The place that results are written to.
struct BytePlace {
  std::int64_t image = 0, pixel = 0, channel = 0;
};

// Runs the rest of the chain over `pixels` × `lanes` contiguous values.
void runByteTail(const Int8DepthwiseJob& job, const Int8DepthwiseCall& call, const BytePlace& place,
                 std::int64_t pixels, std::int64_t lanes, float* values) {
  float operand[kInt8DepthwisePixels * hn::MaxLanes(hn::ScalableTag<float>())];
  PointwiseRows rows;
  rows.in = rows.out = values;
  rows.other = operand;
  rows.count = static_cast<std::size_t>(pixels * lanes);
  for (const PostOp& op : job.chain.tail) {
    if (!isBinary(op.kind)) {
      job.pointwise(op, rows);
      continue;
    }
    const GemmOperand& o = job.operands[op.operand];
    const DType dtype = job.operand_types[op.operand];
    const auto element = static_cast<std::int64_t>(elementBytes(dtype));
    for (std::int64_t p = 0; p < pixels; ++p) {
      const std::int64_t at =
          place.image * o.image_stride + (place.pixel + p) * o.pixel_stride + place.channel * o.column_stride;
      gatherValues(dtype, static_cast<const char*>(call.src[o.src]) + at * element, o.column_stride,
                   operand + p * lanes, lanes);
    }
    job.pointwise(op, rows);
  }
}

template <class DF>
HWY_INLINE hn::Vec<DF> loadOperand(DF d, DType dtype, const void* from, std::int64_t at) {
  if (dtype == DType::kU8) return loadBytes(d, static_cast<const std::uint8_t*>(from) + at);
  if (dtype == DType::kS8) return loadBytes(d, static_cast<const std::int8_t*>(from) + at);
  return hn::LoadU(d, static_cast<const float*>(from) + at);
}

template <int kPixels, class D>
HWY_INLINE void finishPixels(const Int8DepthwiseJob& job, const Int8DepthwiseCall& call, const BytePlace& place,
                             hn::Vec<D> (&sum)[kPixels]) {
  const hn::RebindToFloat<D> d;
  constexpr std::int64_t kLanes = hn::MaxLanes(d);
  const Requantization& chain = job.chain;
  const auto scale = hn::LoadU(d, chain.scale.data() + place.channel),
             offset = hn::LoadU(d, chain.offset.data() + place.channel);
  const auto low = hn::Set(d, chain.low), high = hn::Set(d, chain.high);
  hn::Vec<decltype(d)> value[kPixels];
#pragma GCC unroll 8
  for (int p = 0; p < kPixels; ++p) value[p] = hn::MulAdd(hn::ConvertTo(d, sum[p]), scale, offset);
  const auto add = [&]() HWY_ATTR {
    const GemmOperand& o = job.operands[chain.addend];
    const auto factor = hn::Set(d, chain.factor);
    const std::int64_t at = place.image * o.image_stride + place.pixel * o.pixel_stride + place.channel;
#pragma GCC unroll 8
    for (int p = 0; p < kPixels; ++p) {
      value[p] = hn::MulAdd(
          factor, loadOperand(d, job.operand_types[chain.addend], call.src[o.src], at + p * o.pixel_stride), value[p]);
    }
  };
  if (chain.addend >= 0 && !chain.adds_last) add();
  const bool ends_in_bytes = chain.tail.empty() && isByte(job.result);
  bool by_pieces = false;
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
  if constexpr (kLanes == hn::MaxLanes(F32())) {
    by_pieces = ends_in_bytes && chain.activation == IntegerActivation::kSilu;
    if (by_pieces) {
      const SiluPiecesV silu(&job.silu);
#pragma GCC unroll 8
      for (int p = 0; p < kPixels; ++p) value[p] = silu(value[p]);
    }
  }
#endif
  if (!by_pieces && chain.activation != IntegerActivation::kNone) {
#pragma GCC unroll 8
    for (int p = 0; p < kPixels; ++p)
      value[p] = activated(d, chain.activation, chain.activated_scale, chain.activated_offset, value[p]);
  }
  if (chain.adds_last) add();
  const std::int64_t first = (place.image * job.out[0] * job.out[1] + place.pixel) * job.channels + place.channel;
  if (ends_in_bytes) {
    auto* const to = static_cast<std::uint8_t*>(call.dst) + first;
    // Max returns its second argument when one is NaN, so NaN becomes the lowest byte.
#pragma GCC unroll 8
    for (int p = 0; p < kPixels; ++p) storeRounded(d, hn::Min(hn::Max(value[p], low), high), to + p * job.channels);
    return;
  }
#pragma GCC unroll 8
  for (int p = 0; p < kPixels; ++p) value[p] = hn::Min(high, hn::Max(low, value[p]));
  HWY_ALIGN float values[kPixels * kLanes];
#pragma GCC unroll 8
  for (int p = 0; p < kPixels; ++p) hn::StoreU(value[p], d, values + p * kLanes);
  runByteTail(job, call, place, kPixels, kLanes, values);
  const auto element = static_cast<std::int64_t>(elementBytes(job.result));
  for (int p = 0; p < kPixels; ++p) {
    downconvertValues(job.result, values + p * kLanes,
                      static_cast<char*>(call.dst) + (first + p * job.channels) * element, kLanes);
  }
}

// Sums of kPixels neighbours of a line; `lines` are those of the window, each at the first pixel's first tap.
template <int kPixels, bool kVnni, class D>
HWY_INLINE void runPixels(const Int8DepthwiseJob& job, const Int8DepthwiseCall& call, const std::int32_t* const* lines,
                          std::int64_t column, const BytePlace& place) {
  const D d;
  constexpr std::int64_t kLanes = hn::MaxLanes(d);
  hn::Vec<D> sum[kPixels];
#pragma GCC unroll 8
  for (int p = 0; p < kPixels; ++p) sum[p] = hn::LoadU(d, job.start.data() + place.channel);
  const std::int32_t* w = call.weights + place.channel;
  const std::int64_t step = job.stride[1] * kLanes, quad_step = kVnni4Bytes * job.dilation[1] * kLanes;
  for (std::int64_t line = 0; line < job.kernel[0]; ++line) {
    const std::int32_t* x = lines[line] + column * step;
    for (std::int64_t quad = 0; quad < job.quads; ++quad, x += quad_step, w += job.channels) {
      const auto weights = loadWeights<kVnni>(d, reinterpret_cast<const float*>(w));
#pragma GCC unroll 8
      for (int p = 0; p < kPixels; ++p)
        sum[p] = addProducts<kVnni>(d, vnni4Operand<kVnni>(d, hn::Load(d, x + p * step)), weights, sum[p]);
    }
  }
  finishPixels<kPixels, D>(job, call, place, sum);
}

// Computes lines [begin, end) of the result for `vectors` vectors of channels from place.channel on.
template <bool kVnni, class D>
void runByteLines(const Int8DepthwiseJob& job, const Int8DepthwiseCall& call, std::int64_t begin, std::int64_t end,
                  const BytePlace& at, std::int64_t vectors, std::int32_t* scratch) {
  constexpr std::int64_t kLanes = hn::MaxLanes(D());
  Vnni4Ring<D> rings[kInt8DepthwisePiece / kLanes];
  const auto** const lines = reinterpret_cast<const std::int32_t**>(scratch + job.ringQuads());
  const auto* const x = static_cast<const std::uint8_t*>(call.x) + at.image * job.image_stride + at.channel;
  const std::int64_t width = job.out[1], reach = (job.kernel[0] - 1) * job.dilation[0];
  for (std::int64_t v = 0; v < vectors; ++v) {
    rings[v].start(job, scratch + v * (job.ring_lines + 1) * job.ring_width * kLanes,
                   begin * job.stride[0] - job.padding[0]);
  }
  for (std::int64_t line = begin; line < end; ++line) {
    const std::int64_t first = line * job.stride[0] - job.padding[0];
    for (std::int64_t v = 0; v < vectors; ++v) {
      Vnni4Ring<D>& ring = rings[v];
      ring.skipTo(first);
      ring.fill(x + v * kLanes, first + reach);
      for (std::int64_t tap = 0; tap < job.kernel[0]; ++tap) lines[tap] = ring.at(first + tap * job.dilation[0]);
      BytePlace place{at.image, line * width, at.channel + v * kLanes};
      std::int64_t column = 0;
      const auto strips = [&](auto pixels) {
        constexpr int kPixels = decltype(pixels)::value;
        for (; column + kPixels <= width; column += kPixels, place.pixel += kPixels)
          runPixels<kPixels, kVnni, D>(job, call, lines, column, place);
      };
      strips(std::integral_constant<int, 8>());
      strips(std::integral_constant<int, 4>());
      strips(std::integral_constant<int, 2>());
      strips(std::integral_constant<int, 1>());
    }
  }
}

template <bool kVnni>
void runInt8Depthwise(const Int8DepthwiseJob& job, const Int8DepthwiseCall& call, std::int32_t* scratch,
                      std::int64_t begin, std::int64_t end) {
  for (std::int64_t unit = begin; unit < end; ++unit) {
    const std::int64_t piece = unit % job.pieces, band = unit / job.pieces % job.bands;
    BytePlace place;
    place.image = unit / job.pieces / job.bands;
    place.channel = piece * job.piece;
    const std::int64_t channel_end = std::min(job.channels, place.channel + job.piece);
    const std::int64_t line_begin = job.out[0] * band / job.bands, line_end = job.out[0] * (band + 1) / job.bands;
    const auto vectors = [&](auto tag) {
      using D = decltype(tag);
      constexpr std::int64_t kLanes = hn::MaxLanes(D());
      const std::int64_t count = (channel_end - place.channel) / kLanes;
      if (count > 0) runByteLines<kVnni, D>(job, call, line_begin, line_end, place, count, scratch);
      place.channel += count * kLanes;
    };
    vectors(hn::ScalableTag<std::int32_t>());
    vectors(hn::CappedTag<std::int32_t, 8>());
    vectors(hn::CappedTag<std::int32_t, 4>());
    vectors(hn::CappedTag<std::int32_t, 1>());
  }
}

Int8DepthwiseRun int8DepthwiseCode(bool vnni) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
  return vnni ? &runInt8Depthwise<true> : &runInt8Depthwise<false>;
#else
  static_cast<void>(vnni);
  return &runInt8Depthwise<false>;
#endif
}

}  // namespace ipex_studio::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "core/op/kernel.h"
#include "kernels/common/convolution_geometry.h"
#include "kernels/common/layer_operands.h"
#include "kernels/common/parallel.h"

namespace ipex_studio {
namespace {

HWY_EXPORT(int8DepthwiseCode);

class Int8DepthwiseOp final : public PreparedOp {
 public:
  Int8DepthwiseJob job;
  Int8DepthwiseRun run = nullptr;
  std::int32_t threads = 1;
  std::int64_t grain = 1;
  WeightCache::Packed weights;

  void execute(ExecState*, const void* const* from, void* const* to, void* scratch) const override {
    Int8DepthwiseCall call;
    call.x = from[kSrc];
    call.weights = static_cast<const std::int32_t*>(weights->data());
    call.src = from;
    call.dst = to[0];
    parallelFor(job.units(), grain, threads, [&](std::int64_t begin, std::int64_t end, int thread) {
      run(job, call, static_cast<std::int32_t*>(scratch) + thread * job.scratchQuads(), begin, end);
    });
  }
};

// w[C, 1, k…] as [line][quad][C][4].
void packTapsVnni4(const Int8DepthwiseJob& job, const TensorDesc& w, const std::int8_t* data, void* packed) {
  auto* to = static_cast<std::int8_t*>(packed);
  const int last = w.dims.rank - 1;
  for (std::int64_t y = 0; y < job.kernel[0]; ++y) {
    for (std::int64_t quad = 0; quad < job.quads; ++quad) {
      for (std::int64_t c = 0; c < job.channels; ++c) {
        for (std::int64_t x = quad * kVnni4Bytes; x < (quad + 1) * kVnni4Bytes; ++x) {
          const std::int64_t tap = x * w.strides[last] + (last > 2 ? y * w.strides[last - 1] : 0);
          *to++ = x < job.kernel[1] ? data[c * w.strides[0] + tap] : std::int8_t{0};
        }
      }
    }
  }
}

class DepthwiseInt8 final : public Kernel {
 public:
  const char* name() const override { return "convolution_depthwise_simd_int8"; }

  Verdict supports(const PrepareArgs& args) const override {
    const Verdict verdict = takesPackedIntegers(args);
    if (!verdict.ok) return verdict;
    const TensorDesc &x = args.src[kSrc], &w = args.src[kWeights];
    if (x.dims.rank < 3 || x.dims.rank > 4) return Verdict::no("rank");
    const std::int64_t groups = args.spec.intOr("groups", 1);
    if (groups != w.dims[0] || groups != x.dims[1] || w.dims[1] != 1) return Verdict::no("not-depthwise");
    return Verdict::yes();
  }

  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string* reason) const override {
    const TensorDesc dst = channelsLastDesc(args.dst[0].dtype, args.dst[0].dims);
    auto op = std::make_unique<Int8DepthwiseOp>();
    op->src = args.src;
    TensorDesc& x = op->src[kSrc];
    if (x.block != 0 || x.strides[kChannelAxis] != 1) x = channelsLastDesc(x.dtype, x.dims);
    op->dst = {dst};
    op->packed.assign(args.src.size(), false);
    Int8DepthwiseJob& job = op->job;
    job.result = dst.dtype;
    describeWindow(args, x, &job);
    job.chain = foldChain(args, kFirstPostOperand, kChannelAxis, /*takes_all=*/true);
    saturate(dst.dtype, &job.chain);
    job.silu = siluPiecesOf(job.chain);
    if (!planChain(args, dst, op.get())) {
      *reason = "post-ops";
      return nullptr;
    }
    planUnits(args.target.threads, op.get());
    pack(args, op.get());
    op->run = IPEX_SELECT_TARGET(int8DepthwiseCode, args.target.isa)(mayUseVnni(args.target.isa));
    op->flops = 2 * dst.dims.count() * job.kernel[0] * job.kernel[1];
    return op;
  }

 private:
  static void describeWindow(const PrepareArgs& args, const TensorDesc& x, Int8DepthwiseJob* job) {
    const int spatial = x.dims.rank - 2;
    const ConvolutionGeometry geometry = convolutionGeometry(args.spec, spatial);
    job->images = x.dims[0];
    job->channels = x.dims[kChannelAxis];
    job->image_stride = x.strides[0];
    job->flip = x.dtype == DType::kS8 ? 0x80u : 0u;
    job->zero = (static_cast<std::uint32_t>(args.spec.intOr("src_zero", 0)) & 0xFFu) ^ job->flip;
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
    job->quads = (job->kernel[1] + kVnni4Bytes - 1) / kVnni4Bytes;
  }

  // Describes the operands of the chain. False, so that the kernel declines, if an operand broadcasts along one of the
  // spatial axes only, or if the addend is bf16, which the code for addends does not read.
  static bool planChain(const PrepareArgs& args, const TensorDesc& dst, Int8DepthwiseOp* op) {
    Int8DepthwiseJob& job = op->job;
    if (!describeOperands(args, dst, &op->src, &job.operands)) return false;
    for (std::size_t s = kFirstPostOperand; s < args.src.size(); ++s) {
      const TensorDesc& layout = op->src[s];
      const bool fits = layout.dims == dst.dims && elementBytes(layout.dtype) == elementBytes(dst.dtype);
      if (args.src_dies[s] && fits && op->in_place_src < 0) op->in_place_src = static_cast<std::int32_t>(s);
      job.operand_types.push_back(layout.dtype);
    }
    if (job.chain.addend >= 0 && job.operand_types[job.chain.addend] == DType::kBf16) return false;
    job.pointwise = pointwiseApply(args.target.isa);
    return true;
  }

  static void planUnits(std::int32_t threads, Int8DepthwiseOp* op) {
    Int8DepthwiseJob& job = op->job;
    job.pieces = (job.channels + job.piece - 1) / job.piece;
    // With few pieces lines are divided, too, so that threads have equal parts.
    const std::int64_t wanted = threads == 1 ? 1 : 4 * threads;
    job.bands = std::clamp<std::int64_t>(wanted / (job.images * job.pieces), 1, job.out[0]);
    op->threads = threads;
    job.ring_lines = (job.kernel[0] - 1) * job.dilation[0] + 1;
    job.ring_width = (job.out[1] - 1) * job.stride[1] + (job.quads - 1) * kVnni4Bytes * job.dilation[1] + 1;
    op->scratch_bytes = static_cast<std::size_t>(threads * job.scratchQuads()) * sizeof(std::int32_t);
    constexpr std::int64_t kValuesPerOp = 8;  // vectors do better than the scalar operations that grains count
    op->grain =
        grainFor(job.out[0] * job.out[1] * job.piece / job.bands * job.kernel[0] * job.kernel[1] / kValuesPerOp);
  }

  static void pack(const PrepareArgs& args, Int8DepthwiseOp* op) {
    Int8DepthwiseJob& job = op->job;
    const TensorDesc& w = args.src[kWeights];
    const auto* const data = static_cast<const std::int8_t*>(args.constant[kWeights]);
    op->weights =
        args.weights->getOrPack(data, "int8 depthwise words " + w.dims.str() + " strides " + w.strides.str(),
                                static_cast<std::size_t>(job.kernel[0] * job.quads * job.channels * kVnni4Bytes),
                                [&](void* packed) { packTapsVnni4(job, w, data, packed); });
    op->packed[kWeights] = true;
    job.start.assign(static_cast<std::size_t>(job.channels), 0);
    const auto* packed = static_cast<const std::int8_t*>(op->weights->data());
    const std::int64_t line_quads = job.kernel[0] * job.quads;
    for (std::int64_t i = 0; i < line_quads * job.channels * kVnni4Bytes; ++i) {
      job.start[static_cast<std::size_t>(i / kVnni4Bytes % job.channels)] -=
          static_cast<std::int32_t>(job.zero) * packed[i];
    }
  }
};

}  // namespace

std::unique_ptr<Kernel> makeConvolutionDepthwiseInt8() { return std::make_unique<DepthwiseInt8>(); }

}  // namespace ipex_studio

#endif  // HWY_ONCE
