// VNNI-4 packing of images and of rows of floats: quads of bytes (Vnni4Padding, RowRounding).
#if defined(IPEX_KERNELS_INT8_VNNI4_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef IPEX_KERNELS_INT8_VNNI4_INL_H
#undef IPEX_KERNELS_INT8_VNNI4_INL_H
#else
#define IPEX_KERNELS_INT8_VNNI4_INL_H
#endif

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/common/byte_convert-inl.h"
#include "kernels/common/simd-inl.h"
#include "kernels/int8/int8_gemm.h"

HWY_BEFORE_NAMESPACE();
namespace ipex_studio::HWY_NAMESPACE {

// Packs `count` pixels of one line with up to four channels, a quad each: from planes, or from pixels of three bytes by
// loads of four.
inline void padLineOfFewChannels(const Vnni4Padding& p, const std::uint8_t* from, std::int64_t count,
                                 std::uint32_t* to) {
  const std::int64_t step = p.strides[2], channel = p.channel_stride;
  std::int64_t i = 0;
  if (p.channels == 3 && channel == 1 && step == 3) {
    for (; i + 1 < count; ++i) {
      std::uint32_t quad;
      std::memcpy(&quad, from + 3 * i, sizeof quad);
      to[i] = (quad & 0x00FFFFFFu) ^ p.flip;
    }
  } else if (p.channels == 3 && step == 1) {
    const std::uint8_t *a = from, *b = from + channel, *c = from + 2 * channel;
    for (; i < count; ++i) {
      to[i] = (static_cast<std::uint32_t>(a[i]) | static_cast<std::uint32_t>(b[i]) << 8 |
               static_cast<std::uint32_t>(c[i]) << 16) ^
              p.flip;
    }
  }
  for (; i < count; ++i) {
    std::uint32_t quad = 0;
    for (std::int64_t c = 0; c < p.channels; ++c)
      quad |= static_cast<std::uint32_t>(from[i * step + c * channel]) << (8 * c);
    to[i] = quad ^ p.flip;
  }
}

// Packs the channels of one group of one pixel.
HWY_INLINE void padPixel(const Vnni4Padding& p, const std::uint8_t* from, std::uint32_t* to) {
  const std::int64_t whole = p.channels / kVnni4Bytes, rest = p.channels % kVnni4Bytes;
  if (p.channel_stride == 1) {
    std::memcpy(to, from, static_cast<std::size_t>(whole * kVnni4Bytes));
  } else {
    for (std::int64_t w = 0; w < whole; ++w) {
      to[w] = 0;
      for (std::int64_t i = 0; i < kVnni4Bytes; ++i)
        to[w] |= static_cast<std::uint32_t>(from[(w * kVnni4Bytes + i) * p.channel_stride]) << (8 * i);
    }
  }
  if (rest != 0) to[whole] = 0;
  for (std::int64_t i = 0; i < rest; ++i)
    to[whole] |= static_cast<std::uint32_t>(from[(whole * kVnni4Bytes + i) * p.channel_stride]) << (8 * i);
  for (std::int64_t w = 0; p.flip != 0 && w < p.quads(); ++w) to[w] ^= p.flip;
}

// Packs lines [begin, end) of all images, pixel by pixel, group by group.
inline void padToVnni4(const Vnni4Padding& p, const void* x, float* to, std::int64_t begin, std::int64_t end) {
  const std::int64_t quads = p.quads(), width = p.sizes[2];
  const auto* const bytes = static_cast<const std::uint8_t*>(x);
  for (std::int64_t line = begin; line < end; ++line) {
    const std::int64_t plane = line / p.sizes[1];
    const std::uint8_t* from = bytes + line % p.sizes[1] * p.strides[1] + plane % p.sizes[0] * p.strides[0] +
                               plane / p.sizes[0] * p.image_stride;
    auto* out = reinterpret_cast<std::uint32_t*>(to + line * width * p.groups * quads);
    if (p.groups == 1 && p.channels <= kVnni4Bytes) {
      padLineOfFewChannels(p, from, width, out);
      continue;
    }
    for (std::int64_t i = 0; i < width; ++i, from += p.strides[2]) {
      for (std::int64_t g = 0; g < p.groups; ++g, out += quads)
        padPixel(p, from + g * p.channels * p.channel_stride, out);
    }
  }
}

// Quantizes rows [begin, end) to u8 and packs them; a row's scale and zero come from its range, which includes 0.
inline void roundRows(const RowRounding& r, const float* x, float* to, std::int64_t begin, std::int64_t end) {
  const hn::ScalableTag<float> d;
  constexpr std::int64_t kLanes = hn::MaxLanes(d);
  float* const scales = to + r.rows * r.quads();
  auto* const zeros = reinterpret_cast<std::int32_t*>(scales + r.rows);
  for (std::int64_t row = begin; row < end; ++row) {
    const float* const from = x + row * r.stride;
    auto lows = hn::Zero(d), highs = hn::Zero(d);
    std::int64_t i = 0;
    for (; i + kLanes <= r.depth; i += kLanes) {
      const auto v = hn::LoadU(d, from + i);
      lows = hn::Min(lows, v);
      highs = hn::Max(highs, v);
    }
    float low = hn::GetLane(hn::MinOfLanes(d, lows)), high = hn::GetLane(hn::MaxOfLanes(d, highs));
    for (; i < r.depth; ++i) {
      low = std::min(low, from[i]);
      high = std::max(high, from[i]);
    }
    const float scale = high > low ? (high - low) / 255.0f : 1.0f, zero = std::nearbyint(-low / scale);
    scales[row] = scale;
    zeros[row] = static_cast<std::int32_t>(zero);
    auto* const bytes = reinterpret_cast<std::uint8_t*>(to + row * r.quads());
    const auto step = hn::Set(d, scale), shift = hn::Set(d, zero);
    for (i = 0; i + kLanes <= r.depth; i += kLanes) {
      storeRounded(d, saturated<std::uint8_t>(d, hn::Add(hn::Round(hn::Div(hn::LoadU(d, from + i), step)), shift)),
                   bytes + i);
    }
    for (; i < r.depth; ++i) bytes[i] = roundedByte<std::uint8_t>(std::nearbyint(from[i] / scale) + zero);
    for (; i < r.quads() * kVnni4Bytes; ++i) bytes[i] = 0;
  }
}

}  // namespace ipex_studio::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
