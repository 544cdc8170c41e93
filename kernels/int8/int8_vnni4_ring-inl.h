// The lines that windows of a depthwise convolution of integers reach, copied so that each place holds four
// neighbouring taps.
#if defined(IPEX_KERNELS_INT8_VNNI4_RING_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef IPEX_KERNELS_INT8_VNNI4_RING_INL_H
#undef IPEX_KERNELS_INT8_VNNI4_RING_INL_H
#else
#define IPEX_KERNELS_INT8_VNNI4_RING_INL_H
#endif

#include <algorithm>

#include "kernels/common/simd-inl.h"
#include "kernels/int8/int8_depthwise.h"

HWY_BEFORE_NAMESPACE();
namespace ipex_studio::HWY_NAMESPACE {

// The lines of one vector of channels that windows of the current line reach, as quads.
template <class D>
class Vnni4Ring {
 public:
  // Empties the ring for lines from `first_line` on and fills the line that stands for those outside of the image.
  void start(const Int8DepthwiseJob& job, std::int32_t* memory, std::int64_t first_line) {
    job_ = &job;
    memory_ = memory;
    next_ = std::max<std::int64_t>(0, first_line);
    std::int32_t* const outside = memory_ + job_->ring_lines * lineQuads();
    std::fill(outside, outside + lineQuads(), static_cast<std::int32_t>(job_->zero * 0x01010101u));
  }

  // Lines that no window of the lines from `first` on reaches need no copy.
  void skipTo(std::int64_t first) { next_ = std::max(next_, first); }

  // Copies lines up to and including `last`; x: the image at the vector's first channel.
  HWY_INLINE void fill(const std::uint8_t* x, std::int64_t last) {
    for (; next_ <= last && next_ < job_->in[0]; ++next_)
      fillLine(x + next_ * job_->x_stride[0], memory_ + next_ % job_->ring_lines * lineQuads());
  }

  const std::int32_t* at(std::int64_t line) const {
    const bool inside = line >= 0 && line < job_->in[0];
    return memory_ + (inside ? line % job_->ring_lines : job_->ring_lines) * lineQuads();
  }

 private:
  static constexpr std::int64_t kLanes = hn::MaxLanes(D());
  using DU = hn::RebindToUnsigned<D>;
  using V = hn::Vec<DU>;

  std::int64_t lineQuads() const { return job_->ring_width * kLanes; }

  HWY_INLINE void fillLine(const std::uint8_t* line, std::int32_t* to) const {
    const D d;
    const DU du;
    // Members of the job are copied to variables: for the compiler, stores of quads might change the job.
    const std::int64_t step = job_->dilation[1], stride = job_->x_stride[1], padding = job_->padding[1],
                       size = job_->in[1];
    const std::int64_t width = job_->ring_width;
    const V flip = hn::Set(du, job_->flip), zero = hn::Set(du, job_->zero);
    const auto pixel = [&](std::int64_t at) HWY_ATTR {
      const hn::Rebind<std::uint8_t, D> bytes;
      return hn::Xor(hn::PromoteTo(du, hn::LoadU(bytes, line + at * stride)), flip);
    };
    const auto place = [&](std::int64_t q)
                           HWY_ATTR { return q < padding || q - padding >= size ? zero : pixel(q - padding); };
    for (std::int64_t phase = 0; phase < std::min(step, width); ++phase) {
      V quad = hn::ShiftLeft<8>(place(phase));
      quad = hn::Or(quad, hn::ShiftLeft<16>(place(phase + step)));
      quad = hn::Or(quad, hn::ShiftLeft<24>(place(phase + 2 * step)));
      const auto push = [&](V next, std::int64_t q) HWY_ATTR {
        quad = hn::Or(hn::ShiftRight<8>(quad), hn::ShiftLeft<24>(next));
        hn::Store(hn::BitCast(d, quad), d, to + q * kLanes);
      };
      std::int64_t q = phase;
      const std::int64_t inside = std::min(width, size + padding - 3 * step);
      for (; q < width && q + 3 * step < padding; q += step) push(zero, q);
      for (; q < inside; q += step) push(pixel(q + 3 * step - padding), q);
      for (; q < width; q += step) push(zero, q);
    }
  }

  const Int8DepthwiseJob* job_ = nullptr;
  std::int32_t* memory_ = nullptr;
  std::int64_t next_ = 0;
};

}  // namespace ipex_studio::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
