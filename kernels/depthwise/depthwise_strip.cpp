// The innermost part of depthwise convolutions: sums of neighbouring pixels for one vector of channels over copied
// lines.
#define HWY_TARGET_INCLUDE "kernels/depthwise/depthwise_strip.cpp"
#include "kernels/common/simd-inl.h"

#include <hwy/cache_control.h>

#include "kernels/common/bf16-inl.h"
#include "kernels/common/byte_convert-inl.h"
#include "kernels/common/smooth_activation-inl.h"
#include "kernels/depthwise/depthwise_strip-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ipex_studio::HWY_NAMESPACE {
namespace {

// Any number of taps: each multiplication loads its value.
template <int kPixels, int kTaps, int kStride, class D, class V = hn::Vec<D>>
HWY_INLINE void addTaps(D d, const DepthwiseStrip& strip, V (&sum)[kPixels]) {
  constexpr std::int64_t kLanes = hn::MaxLanes(d);
  for (std::int64_t line = 0; line < strip.line_count; ++line) {
    const float* const x = strip.lines[line] + strip.offset;
    const float* const w = strip.w + line * strip.w_line_step;
    if constexpr (kTaps == 0) {
      for (std::int64_t tap = 0; tap < strip.taps; ++tap) {
        const V weight = hn::LoadU(d, w + tap * strip.w_tap_step);
#pragma GCC unroll 8
        for (int p = 0; p < kPixels; ++p) {
          sum[p] = hn::MulAdd(weight, hn::Load(d, x + tap * strip.tap_step + p * strip.pixel_step), sum[p]);
        }
      }
    } else {
      V weight[kTaps];
#pragma GCC unroll 8
      for (int tap = 0; tap < kTaps; ++tap) weight[tap] = hn::LoadU(d, w + tap * strip.w_tap_step);
#pragma GCC unroll 32
      for (int i = 0; i < (kPixels - 1) * kStride + kTaps; ++i) {
        const V value = hn::Load(d, x + i * kLanes);
#pragma GCC unroll 8
        for (int tap = 0; tap < kTaps; ++tap) {
          const int at = i - tap;
          if (at >= 0 && at % kStride == 0 && at / kStride < kPixels) {
            sum[at / kStride] = hn::MulAdd(weight[tap], value, sum[at / kStride]);
          }
        }
      }
    }
  }
}

// Runs the rest of the chain over `pixels` × `lanes` contiguous values; `pixel` is the first one's number in the image.
void runTail(const DepthwiseJob& job, const DepthwiseCall& call, std::int64_t image, std::int64_t pixel,
             std::int64_t pixels, std::int64_t channel, std::int64_t lanes, float* values) {
  float operand[kDepthwisePixels * hn::MaxLanes(hn::ScalableTag<float>())];
  const std::int64_t count = pixels * lanes;
  PointwiseRows rows;
  rows.in = rows.out = values;
  rows.other = operand;
  rows.count = static_cast<std::size_t>(count);
  for (const PostOp& op : job.tail) {
    if (!isBinary(op.kind)) {
      job.pointwise(op, rows);
      continue;
    }
    const GemmOperand& o = job.operands[op.operand];
    const DType dtype = job.operand_types[op.operand];
    const std::int64_t from = image * o.image_stride + channel * o.column_stride;
    for (std::int64_t i = 0; i < count; ++i) {
      operand[i] =
          valueAt(dtype, call.src[o.src], from + (pixel + i / lanes) * o.pixel_stride + i % lanes * o.column_stride);
    }
    job.pointwise(op, rows);
  }
}

// Adds the operand that has the result's size and begins at `addend`.
template <int kPixels, class D, class T, class V = hn::Vec<D>>
HWY_INLINE void addOperand(D d, const T* addend, std::int64_t channels, V (&sum)[kPixels]) {
#pragma GCC unroll 8
  for (int p = 0; p < kPixels; ++p) sum[p] = hn::Add(sum[p], loadFloats(d, addend + p * channels));
}

// Stores the sums of kPixels pixels, `channels` apart.
template <int kPixels, class D, class V = hn::Vec<D>>
HWY_INLINE void storeSums(D d, const DepthwiseJob& job, const V (&sum)[kPixels], void* to) {
  const std::int64_t channels = job.channels;
  if (job.result == DType::kF32) {
#pragma GCC unroll 8
    for (int p = 0; p < kPixels; ++p) hn::StoreU(sum[p], d, static_cast<float*>(to) + p * channels);
    return;
  }
  auto* const narrow = static_cast<std::uint16_t*>(to);
  if (job.native_bf16) {
#pragma GCC unroll 8
    for (int p = 0; p < kPixels; ++p) storeNarrow<true>(d, sum[p], narrow + p * channels);
    return;
  }
#pragma GCC unroll 8
  for (int p = 0; p < kPixels; ++p) storeBf16(d, sum[p], narrow + p * channels);
}

// Activates `count` values.
inline void activateSmoothly(const SmoothActivation& activation, float* values, std::int64_t count) {
  const F32 d;
  constexpr std::int64_t kWidth = hn::MaxLanes(d);
  const SmoothActivationV activate(activation);
  std::int64_t i = 0;
  for (; i + kWidth <= count; i += kWidth) hn::StoreU(activate(hn::LoadU(d, values + i)), d, values + i);
  if (i < count) storeFirst(activate(loadFirst(values + i, count - i)), values + i, count - i);
}

// Computes `count` strips of kPixels each, side by side.
template <int kPixels, int kTaps, int kStride, class D>
void runStrips(const DepthwiseJob& job, const DepthwiseCall& call, DepthwiseStrip strip, DepthwisePlace place,
               std::int64_t count) {
  const D d;
  using V = hn::Vec<D>;
  constexpr std::int64_t kLanes = hn::MaxLanes(d);
  const V bias = hn::LoadU(d, call.bias + place.channel);
  const std::int64_t channels = job.channels;
  std::int64_t begin = (place.image * job.out[0] * job.out[1] + place.pixel) * channels + place.channel;
  const void* const addend = job.addend >= 0 ? call.src[job.operands[job.addend].src] : nullptr;
  const bool narrow_addend = addend != nullptr && job.operand_types[job.addend] == DType::kBf16;
  const std::int64_t element = elementBytes(job.result);
  for (std::int64_t s = 0; s < count; ++s, strip.offset += kPixels * strip.pixel_step, begin += kPixels * channels) {
    char* const y = static_cast<char*>(call.dst) + begin * element;
    // Prefetches the result's lines while the sums are made.
#pragma GCC unroll 8
    for (int p = 0; p < kPixels; ++p) hwy::Prefetch(y + p * channels * element);
    V sum[kPixels];
#pragma GCC unroll 8
    for (int p = 0; p < kPixels; ++p) sum[p] = bias;
    addTaps<kPixels, kTaps, kStride>(d, strip, sum);
    if (narrow_addend) {
      addOperand(d, static_cast<const std::uint16_t*>(addend) + begin, channels, sum);
    } else if (addend != nullptr) {
      addOperand(d, static_cast<const float*>(addend) + begin, channels, sum);
    }
#pragma GCC unroll 8
    for (int p = 0; p < kPixels; ++p) sum[p] = activate(d, job, sum[p]);
    if (job.tail.empty() && job.smooth == nullptr) {
      storeSums(d, job, sum, y);
      continue;
    }
    if constexpr (kLanes == hn::MaxLanes(F32())) {
      if (job.smooth != nullptr) {
        const SmoothActivationV smooth(*job.smooth);
#pragma GCC unroll 8
        for (int p = 0; p < kPixels; ++p) sum[p] = smooth(sum[p]);
        storeSums(d, job, sum, y);
        continue;
      }
    }
    HWY_ALIGN float values[kPixels * kLanes];
#pragma GCC unroll 8
    for (int p = 0; p < kPixels; ++p) hn::StoreU(sum[p], d, values + p * kLanes);
    if (job.smooth != nullptr) {
      activateSmoothly(*job.smooth, values, kPixels * kLanes);
    } else {
      runTail(job, call, place.image, place.pixel + s * kPixels, kPixels, place.channel, kLanes, values);
    }
#pragma GCC unroll 8
    for (int p = 0; p < kPixels; ++p) sum[p] = hn::Load(d, values + p * kLanes);
    storeSums(d, job, sum, y);
  }
}

template <int kTaps, int kStride, class D, int kPixels = kDepthwisePixels>
constexpr void fillRuns(DepthwiseStripRuns* runs) {
  runs->run[kPixels] = &runStrips<kPixels, kTaps, kStride, D>;
  if constexpr (kPixels > 1) fillRuns<kTaps, kStride, D, kPixels - 1>(runs);
}

template <int kTaps, int kStride, class D>
constexpr DepthwiseStripRuns makeRuns() {
  DepthwiseStripRuns runs;
  fillRuns<kTaps, kStride, D>(&runs);
  return runs;
}

template <class D>
const DepthwiseStripRuns& runsFor(const DepthwiseJob& job) {
  static constexpr DepthwiseStripRuns kAny = makeRuns<0, 1, D>();
  if constexpr (hn::MaxLanes(D()) == 1) {
    return kAny;  // the last three channels at most, or a machine without vectors
  } else {
    static constexpr DepthwiseStripRuns kRuns[] = {makeRuns<3, 1, D>(), makeRuns<3, 2, D>(), makeRuns<5, 1, D>(),
                                                   makeRuns<5, 2, D>(), makeRuns<7, 1, D>()};
    const std::int64_t taps = job.kernel[1], stride = job.stride[1];
    if (job.dilation[1] != 1) return kAny;
    if ((taps == 3 || taps == 5) && stride <= 2) return kRuns[(taps == 5 ? 2 : 0) + stride - 1];
    return taps == 7 && stride == 1 ? kRuns[4] : kAny;
  }
}

}  // namespace

const DepthwiseStripRuns& stripRuns(const DepthwiseJob& job, std::int64_t lanes) {
  if (lanes == 16) return runsFor<hn::CappedTag<float, 16>>(job);
  if (lanes == 8) return runsFor<hn::CappedTag<float, 8>>(job);
  if (lanes == 4) return runsFor<hn::CappedTag<float, 4>>(job);
  return runsFor<hn::CappedTag<float, 1>>(job);
}

}  // namespace ipex_studio::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
