// Depthwise convolutions line by line, once per Highway target: the lines that windows reach lie in a ring of as many
// as a window is high, with their padding, densely and for one vector of channels. `Lines` makes them:
//
//   template <class D>
//   void make(const DepthwisePlace& place, std::int64_t line, std::int64_t begin, std::int64_t end, float* to)
//   static constexpr bool kWidest  // true if lines are computed rather than copied
//
// make() writes pixels [begin, end) of a line of the image for the vector of channels at `place`, one vector after the
// other.
#if defined(IPEX_KERNELS_DEPTHWISE_LINES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef IPEX_KERNELS_DEPTHWISE_LINES_INL_H
#undef IPEX_KERNELS_DEPTHWISE_LINES_INL_H
#else
#define IPEX_KERNELS_DEPTHWISE_LINES_INL_H
#endif

#include <algorithm>

#include "kernels/common/simd-inl.h"
#include "kernels/depthwise/depthwise_job.h"
#include "kernels/depthwise/depthwise_strip-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ipex_studio::HWY_NAMESPACE {

// The lines of one vector of channels that windows of the current line reach.
template <class Lines>
class LineRing {
 public:
  LineRing(const DepthwiseJob& job, const Lines& lines, float* memory) : job_(job), lines_(lines), memory_(memory) {}

  // Empties the ring for vectors of D; places beside the image are zero from here on.
  template <class D>
  void clear(std::int64_t first_line) {
    constexpr std::int64_t kLanes = hn::MaxLanes(D());
    next_ = std::max<std::int64_t>(0, first_line);
    std::fill(memory_, memory_ + job_.ring_lines * job_.ring_width * kLanes, 0.0f);
  }

  // Makes lines up to and including `last`.
  template <class D>
  HWY_INLINE void fill(const DepthwisePlace& place, std::int64_t last) {
    constexpr std::int64_t kLanes = hn::MaxLanes(D());
    // The end of a line that no window reaches is not made.
    const std::int64_t begin = std::max<std::int64_t>(0, -job_.padding[1]);
    const std::int64_t end = std::min(job_.in[1], job_.ring_width - job_.padding[1]);
    for (; next_ <= last && next_ < job_.in[0]; ++next_) {
      lines_.template make<D>(place, next_, begin, end, at<D>(next_) + (job_.padding[1] + begin) * kLanes);
    }
  }

  template <class D>
  HWY_INLINE float* at(std::int64_t line) const {
    return memory_ + line % job_.ring_lines * job_.ring_width * hn::MaxLanes(D());
  }

  // Lines that no window of the lines from `first` on reaches need not be made.
  void skipTo(std::int64_t first) { next_ = std::max(next_, first); }

 private:
  const DepthwiseJob& job_;
  const Lines& lines_;
  float* memory_;
  std::int64_t next_ = 0;
};

// Computes lines [begin, end) of the result for the vector of channels at place.channel. `taps`: memory for the
// addresses of a window's lines.
template <class D, class Lines>
void runLines(const DepthwiseJob& job, const DepthwiseCall& call, std::int64_t begin, std::int64_t end,
              DepthwisePlace place, LineRing<Lines>* ring, const float** taps) {
  constexpr std::int64_t kLanes = hn::MaxLanes(D());
  const DepthwiseStripRuns& runs = stripRuns(job, kLanes);
  const std::int64_t width = job.out[1], strips = (width + kDepthwisePixels - 1) / kDepthwisePixels;
  const std::int64_t reach = (job.kernel[0] - 1) * job.dilation[0];
  DepthwiseStrip strip;
  strip.lines = taps;
  strip.taps = job.kernel[1];
  strip.tap_step = job.dilation[1] * kLanes;
  strip.pixel_step = job.stride[1] * kLanes;
  strip.w_tap_step = job.channels;
  strip.w_line_step = job.kernel[1] * job.channels;
  ring->template clear<D>(begin * job.stride[0] - job.padding[0]);
  for (std::int64_t line = begin; line < end; ++line) {
    const std::int64_t first = line * job.stride[0] - job.padding[0];
    ring->skipTo(first);
    ring->template fill<D>(place, first + reach);
    std::int64_t tap = 0;
    while (tap < job.kernel[0] && first + tap * job.dilation[0] < 0) ++tap;
    strip.w = call.weights + tap * strip.w_line_step + place.channel;
    strip.line_count = 0;
    for (; tap < job.kernel[0] && first + tap * job.dilation[0] < job.in[0]; ++tap) {
      taps[strip.line_count++] = ring->template at<D>(first + tap * job.dilation[0]);
    }
    // Strips of nearly equal width, the narrower ones first.
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

template <class D, class Lines>
void runVectors(const DepthwiseJob& job, const DepthwiseCall& call, std::int64_t begin, std::int64_t end,
                DepthwisePlace* place, std::int64_t channel_end, LineRing<Lines>* ring, const float** taps) {
  constexpr std::int64_t kLanes = hn::MaxLanes(D());
  for (; place->channel + kLanes <= channel_end; place->channel += kLanes) {
    runLines<D>(job, call, begin, end, *place, ring, taps);
  }
}

// Computes units [begin, end) of the job.
template <class Lines>
void runUnits(const DepthwiseJob& job, const DepthwiseCall& call, const Lines& lines, float* scratch,
              std::int64_t begin, std::int64_t end) {
  using Full = hn::ScalableTag<float>;
  LineRing<Lines> ring(job, lines, scratch);
  const auto** const taps = reinterpret_cast<const float**>(scratch + job.ringFloats());
  for (std::int64_t unit = begin; unit < end; ++unit) {
    const std::int64_t piece = unit % job.pieces, band = unit / job.pieces % job.bands;
    DepthwisePlace place;
    place.image = unit / job.pieces / job.bands;
    place.channel = piece * job.piece;
    const std::int64_t channel_end = std::min(job.channels, place.channel + job.piece);
    const std::int64_t line_begin = job.out[0] * band / job.bands, line_end = job.out[0] * (band + 1) / job.bands;
    // Vectors of 16 pay only if they do not cross cache lines, or if making the lines costs more than crossing.
    if (Lines::kWidest || hn::MaxLanes(Full()) < 16 || job.channels % 16 == 0) {
      runVectors<Full>(job, call, line_begin, line_end, &place, channel_end, &ring, taps);
    }
    runVectors<hn::CappedTag<float, 8>>(job, call, line_begin, line_end, &place, channel_end, &ring, taps);
    runVectors<hn::CappedTag<float, 4>>(job, call, line_begin, line_end, &place, channel_end, &ring, taps);
    runVectors<hn::CappedTag<float, 1>>(job, call, line_begin, line_end, &place, channel_end, &ring, taps);
  }
}

}  // namespace ipex_studio::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
