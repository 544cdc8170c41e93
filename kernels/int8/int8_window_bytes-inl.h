// Windows of few channels as rows of bytes (WindowBytes): the image is copied once with its padding and its channels
// side by side, then the taps of each line of a window are one piece.
#if defined(IPEX_KERNELS_INT8_WINDOW_BYTES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef IPEX_KERNELS_INT8_WINDOW_BYTES_INL_H
#undef IPEX_KERNELS_INT8_WINDOW_BYTES_INL_H
#else
#define IPEX_KERNELS_INT8_WINDOW_BYTES_INL_H
#endif

#include <algorithm>
#include <cstring>

#include "kernels/common/simd-inl.h"
#include "kernels/int8/int8_gemm.h"

HWY_BEFORE_NAMESPACE();
namespace ipex_studio::HWY_NAMESPACE {

// Copies `count` pixels, channels side by side.
inline void copyPixels(const WindowBytes& w, const std::uint8_t* from, std::int64_t count, std::uint8_t* to) {
  const hn::CappedTag<std::uint8_t, 16> d;
  constexpr std::int64_t kLanes = hn::MaxLanes(d);
  const auto flip = hn::Set(d, static_cast<std::uint8_t>(w.flip));
  const std::int64_t step = w.strides[1], channel = w.channel_stride;
  std::int64_t i = 0;
  if (channel == 1 && step == w.channels) {
    const std::int64_t bytes = count * w.channels;
    for (; i + kLanes <= bytes; i += kLanes) hn::StoreU(hn::Xor(hn::LoadU(d, from + i), flip), d, to + i);
    for (; i < bytes; ++i) to[i] = static_cast<std::uint8_t>(from[i] ^ w.flip);
    return;
  }
  const bool planes = step == 1;
  const auto plane = [&](std::int64_t c) HWY_ATTR { return hn::Xor(hn::LoadU(d, from + c * channel + i), flip); };
  if (planes && w.channels == 1) {
    for (; i + kLanes <= count; i += kLanes) hn::StoreU(plane(0), d, to + i);
  } else if (planes && w.channels == 2) {
    for (; i + kLanes <= count; i += kLanes) hn::StoreInterleaved2(plane(0), plane(1), d, to + 2 * i);
  } else if (planes && w.channels == 3) {
    for (; i + kLanes <= count; i += kLanes) hn::StoreInterleaved3(plane(0), plane(1), plane(2), d, to + 3 * i);
  }
  for (; i < count; ++i) {
    for (std::int64_t c = 0; c < w.channels; ++c)
      to[i * w.channels + c] = static_cast<std::uint8_t>(from[i * step + c * channel] ^ w.flip);
  }
}

// Makes lines [begin, end) of the padded copies of all images.
inline void padByteLines(const WindowBytes& w, const void* x, float* to, std::int64_t begin, std::int64_t end) {
  const std::int64_t line_bytes = w.lineBytes(), lines = w.lines();
  for (std::int64_t line = begin; line < end; ++line) {
    auto* const out = reinterpret_cast<std::uint8_t*>(to) + line * line_bytes;
    const std::int64_t y = line % lines - w.padding[0];
    const std::int64_t before = std::min(w.padding[1] * w.channels, line_bytes);
    const std::int64_t inside = y < 0 || y >= w.in[0] ? 0 : std::min(w.in[1], (line_bytes - before) / w.channels);
    const std::uint8_t* const from =
        static_cast<const std::uint8_t*>(x) + line / lines * w.image_stride + y * w.strides[0];
    std::memset(out, static_cast<int>(w.outside & 0xFF), static_cast<std::size_t>(before));
    if (inside > 0) copyPixels(w, from, inside, out + before);
    const std::int64_t end_of_line = before + inside * w.channels;
    std::memset(out + end_of_line, static_cast<int>(w.outside & 0xFF),
                static_cast<std::size_t>(line_bytes - end_of_line));
  }
}

// Gathers rows [begin, begin + count), row_floats apart; x: the padded copies.
inline void gatherBytes(const WindowBytes& w, const float* x, std::int64_t begin, std::int64_t count,
                        std::int64_t row_floats, float* to) {
  const hn::CappedTag<std::uint8_t, 32> d;
  constexpr std::int64_t kLanes = hn::MaxLanes(d);
  const std::int64_t line_bytes = w.lineBytes(), run = w.kernel[1] * w.channels, step = w.stride[1] * w.channels;
  const std::int64_t line_step = w.dilation * line_bytes, kernel_lines = w.kernel[0], width = w.out[1];
  const auto lineAt = [&](std::int64_t line) {
    return reinterpret_cast<const std::uint8_t*>(x) +
           (line / w.out[0] * w.lines() + line % w.out[0] * w.stride[0]) * line_bytes;
  };
  std::int64_t line = begin / width, column = begin % width;
  const std::uint8_t* first = lineAt(line) + column * step;
  auto* out = reinterpret_cast<std::uint8_t*>(to);
  for (std::int64_t r = 0; r < count;
       ++r, out += row_floats * static_cast<std::int64_t>(sizeof(float)), first += step) {
    const std::uint8_t* from = first;
    std::uint8_t* at = out;
    if (run <= kLanes) {
      for (std::int64_t y = kernel_lines; y > 0; --y, from += line_step, at += run)
        hn::StoreU(hn::LoadU(d, from), d, at);
    } else {
      for (std::int64_t y = kernel_lines; y > 0; --y, from += line_step, at += run) {
        for (std::int64_t i = 0; i < run; i += kLanes) hn::StoreU(hn::LoadU(d, from + i), d, at + i);
      }
    }
    if (++column < width || r + 1 == count) continue;
    column = 0;
    first = lineAt(++line) - step;
  }
}

}  // namespace ipex_studio::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
