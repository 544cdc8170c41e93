// Makes rows of packed matrix products readable: in place, from a copy of the image's lines with their padding, or
// gathered row after row. Values have 32 bits and are moved as they are: floats, or four bytes.
#if defined(IPEX_KERNELS_GEMM_ROWS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef IPEX_KERNELS_GEMM_ROWS_INL_H
#undef IPEX_KERNELS_GEMM_ROWS_INL_H
#else
#define IPEX_KERNELS_GEMM_ROWS_INL_H
#endif

#include <algorithm>
#include <cstring>

#include "kernels/common/simd-inl.h"
#include "kernels/gemm/packed_gemm.h"

HWY_BEFORE_NAMESPACE();
namespace ipex_studio::HWY_NAMESPACE {

// Writes `count` values and possibly zeros up to a full vector's end.
HWY_INLINE void copyValues(const float* from, float* to, std::int64_t count) {
  const F32 d;
  constexpr std::int64_t kLanes = hn::MaxLanes(d);
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) hn::StoreU(hn::LoadU(d, from + i), d, to + i);
  if (i == count) return;
#if HWY_TARGET <= HWY_AVX2
  hn::StoreU(hn::MaskedLoad(hn::FirstN(d, static_cast<std::size_t>(count - i)), d, from + i), d, to + i);
#else
  for (; i < count; ++i) to[i] = from[i];
#endif
}

// Copies one line of an image from pixel `first` on: `width` pixels of `run` values, `outside` for pixels outside [0,
// size). Returns the end of the copy.
HWY_INLINE float* copyLine(const float* line, std::int64_t x_stride, std::int64_t size, std::int64_t first,
                           std::int64_t step, std::int64_t width, std::int64_t run, std::int64_t pixel_stride,
                           float outside, float* to) {
  const std::int64_t before = std::clamp<std::int64_t>((-first + step - 1) / step, 0, width);
  const std::int64_t inside = std::clamp<std::int64_t>((size - first + step - 1) / step, before, width) - before;
  const std::int64_t after = width - before - inside;
  std::fill(to, to + before * pixel_stride, outside);
  to += before * pixel_stride;
  const float* from = line + (first + before * step) * x_stride;
  if (x_stride * step == run && pixel_stride == run) {
    copyValues(from, to, inside * run);
    to += inside * run;
  } else {
    for (std::int64_t i = 0; i < inside; ++i, from += x_stride * step, to += pixel_stride) copyValues(from, to, run);
  }
  std::fill(to, to + after * pixel_stride, outside);
  return to + after * pixel_stride;
}

// Copies one line of a row-major image of bf16 as `width` pairs of neighbouring pixels, `step` apart, from pixel
// `first` on; zeros for pixels outside of [0, size). Returns the end of the copy.
inline float* copyPixelPairs(const std::uint16_t* line, std::int64_t size, std::int64_t first, std::int64_t step,
                             std::int64_t width, float* to) {
  auto* const numbers = reinterpret_cast<std::uint16_t*>(to);
  const auto pixelAt = [&](std::int64_t x) { return x >= 0 && x < size ? line[x] : std::uint16_t{0}; };
  const auto copySlowly = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      numbers[2 * i] = pixelAt(first + i * step);
      numbers[2 * i + 1] = pixelAt(first + i * step + 1);
    }
  };
  // Pairs [begin, end) lie in the image with both of their pixels.
  const std::int64_t begin = std::clamp<std::int64_t>((-first + step - 1) / step, 0, width);
  const std::int64_t end = std::clamp<std::int64_t>((size - 1 - first + step - 1) / step, begin, width);
  copySlowly(0, begin);
  const std::uint16_t* const from = line + first;
  if (step == 2) {
    std::memcpy(numbers + 2 * begin, from + 2 * begin, static_cast<std::size_t>(end - begin) * sizeof(float));
  } else {
    const hn::RebindToUnsigned<F32> words;
    const hn::Rebind<std::uint16_t, F32> halves;
    constexpr std::int64_t kLanes = hn::MaxLanes(F32());
    std::int64_t i = begin;
    for (; i + kLanes <= end; i += kLanes) {
      const auto left = hn::PromoteTo(words, hn::LoadU(halves, from + i));
      const auto right = hn::PromoteTo(words, hn::LoadU(halves, from + i + 1));
      hn::StoreU(hn::BitCast(F32(), hn::Or(left, hn::ShiftLeft<16>(right))), F32(), to + i);
    }
    copySlowly(i, end);
  }
  copySlowly(end, width);
  return to + width;
}

// Copies all lines that the windows of result lines [line, line + lines) of plane `plane` of one image reach, with
// padding. `x`: the image's first value, a bf16 if values are pairs of pixels.
inline void copyWindow(const GemmJob& job, const void* x, std::int64_t plane, std::int64_t line, std::int64_t lines,
                       float* to) {
  const GemmRows& rows = job.rows;
  const std::int64_t needed = (lines - 1) * rows.stride[1] + (rows.kernel[1] - 1) * rows.dilation[1] + 1;
  const std::int64_t line_values = job.window_width * job.pixel_stride;
  const std::int64_t outer = rows.channels_innermost ? 1 : rows.channels;
  const std::int64_t run = rows.channels_innermost ? rows.channels * rows.groups : 1;
  for (std::int64_t c = 0; c < outer; ++c) {
    for (std::int64_t z = 0; z < rows.kernel[0]; ++z) {
      const std::int64_t from_plane = plane * rows.stride[0] - rows.padding[0] + z * rows.dilation[0];
      float* out = to + (c * rows.kernel[0] + z) * job.window_lines * line_values;
      for (std::int64_t y = 0; y < needed; ++y) {
        const std::int64_t from_line = line * rows.stride[1] - rows.padding[1] + y;
        if (from_plane < 0 || from_plane >= rows.in[0] || from_line < 0 || from_line >= rows.in[1]) {
          std::fill(out, out + line_values, job.outside);
          out += line_values;
          continue;
        }
        const std::int64_t at = c * rows.channel_stride + from_plane * rows.x_stride[0] + from_line * rows.x_stride[1];
        if (rows.pair_step != 0) {
          out = copyPixelPairs(static_cast<const std::uint16_t*>(x) + at, rows.in[2], -rows.padding[2], rows.pair_step,
                               job.window_width, out);
          continue;
        }
        out = copyLine(static_cast<const float*>(x) + at, rows.x_stride[2], rows.in[2], -rows.padding[2], 1,
                       job.window_width, run, job.pixel_stride, job.outside, out);
      }
    }
  }
}

// Copies the window of one pixel, whose first tap is at `first`; each tap has `run` values.
HWY_INLINE float* gatherWindow(const GemmRows& rows, const float* image, const std::int64_t* first, std::int64_t run,
                               float outside, float* to) {
  for (std::int64_t z = 0; z < rows.kernel[0]; ++z) {
    const std::int64_t plane = first[0] + z * rows.dilation[0];
    for (std::int64_t y = 0; y < rows.kernel[1]; ++y) {
      const std::int64_t line = first[1] + y * rows.dilation[1];
      if (plane < 0 || plane >= rows.in[0] || line < 0 || line >= rows.in[1]) {
        std::fill(to, to + rows.kernel[2] * run, outside);
        to += rows.kernel[2] * run;
      } else {
        to = copyLine(image + plane * rows.x_stride[0] + line * rows.x_stride[1], rows.x_stride[2], rows.in[2],
                      first[2], rows.dilation[2], rows.kernel[2], run, run, outside, to);
      }
    }
  }
  return to;
}

// Gathers rows [begin, begin + count) of the groups [first_group, last_group] side by side.
inline void gatherRows(const GemmJob& job, const float* x, std::int64_t begin, std::int64_t count,
                       std::int64_t first_group, std::int64_t last_group, float* to) {
  const GemmRows& rows = job.rows;
  const std::int64_t planes = rows.channels_innermost ? 1 : rows.channels;
  const std::int64_t run = rows.channels_innermost ? rows.channels : 1;
  // The place of the first row, then of each next one.
  std::int64_t at[3], pixel = begin % rows.pixels();
  const float* image = x + begin / rows.pixels() * rows.image_stride;
  for (int axis = 2; axis >= 0; --axis) {
    at[axis] = pixel % rows.out[axis];
    pixel /= rows.out[axis];
  }
  for (std::int64_t r = 0; r < count; ++r) {
    std::int64_t first[3];
    for (int axis = 0; axis < 3; ++axis) first[axis] = at[axis] * rows.stride[axis] - rows.padding[axis];
    for (std::int64_t group = first_group; group <= last_group; ++group) {
      const float* const channels = image + group * rows.channels * rows.channel_stride;
      float* out = to + (group - first_group) * job.group_stride + r * job.row_stride;
      for (std::int64_t c = 0; c < planes; ++c) {
        out = gatherWindow(rows, channels + c * rows.channel_stride, first, run, job.outside, out);
      }
    }
    if (++at[2] < rows.out[2]) continue;
    at[2] = 0;
    if (++at[1] < rows.out[1]) continue;
    at[1] = 0;
    if (++at[0] < rows.out[0]) continue;
    at[0] = 0;
    image += rows.image_stride;
  }
}

// Makes rows [row, row + count) readable and returns where group `first_group` of the first begins.
inline const float* rowsAt(const GemmJob& job, const float* x, std::int64_t row, std::int64_t count,
                           std::int64_t first_group, std::int64_t last_group, float* scratch) {
  const GemmRows& rows = job.rows;
  if (job.source == GemmSource::kGather) {
    gatherRows(job, x, row, count, first_group, last_group, scratch);
    return scratch;
  }
  if (job.matrix) return x + row * job.row_stride + first_group * job.group_stride;
  const std::int64_t line = row / rows.out[2];
  const std::int64_t plane = line / rows.out[1];
  const std::int64_t image_at = plane / rows.out[0] * rows.image_stride;
  const float* const image = x + image_at;
  if (job.source == GemmSource::kWindow) {
    const void* const from =
        rows.pair_step != 0 ? reinterpret_cast<const std::uint16_t*>(x) + image_at : static_cast<const void*>(image);
    copyWindow(job, from, plane % rows.out[0], line % rows.out[1], count / rows.out[2], scratch);
    return scratch + first_group * job.group_stride;
  }
  return image + plane % rows.out[0] * rows.stride[0] * rows.x_stride[0] +
         line % rows.out[1] * rows.stride[1] * rows.x_stride[1] + first_group * job.group_stride;
}

}  // namespace ipex_studio::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
