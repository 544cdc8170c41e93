// Reads and writes pixels of channels one after the other, at places that all channels of an offset group share.
#include "kernels/vision/deform_columns.h"

#include <algorithm>
#include <cmath>

#include "kernels/common/parallel.h"

namespace ipex_studio {

// Sizes that all functions need.
struct DeformSizes {
  explicit DeformSizes(const DeformJob& job)
      : taps(job.kernel_height * job.kernel_width),
        places(job.out_height * job.out_width),
        pixels(job.height * job.width),
        group(job.channels / job.offset_groups) {}

  std::int64_t taps, places, pixels;
  std::int64_t group;  // channels of an offset group
};

namespace {

// A place between four pixels: the weights of those that lie in the image, else 0, and whether the place counts.
template <typename T>
struct DeformPlace {
  bool inside = false;          // less than a pixel outside of the image
  std::int64_t pixels[4] = {};  // upper left, upper right, lower left, lower right; 0 where there is none
  bool valid[4] = {};
  T down = 0, right = 0;  // of the way from the first pixel

  T weight(int corner) const {
    return valid[corner] ? (corner < 2 ? 1 - down : down) * (corner % 2 == 0 ? 1 - right : right) : T(0);
  }
};

template <typename T>
DeformPlace<T> placeBetween(const DeformJob& job, T row, T column) {
  DeformPlace<T> place;
  const T height = static_cast<T>(job.height), width = static_cast<T>(job.width);
  if (!(row >= -1 && row <= height && column >= -1 && column <= width)) return place;
  place.inside = row > -1 && row < height && column > -1 && column < width;
  const T upper = std::floor(row), left = std::floor(column);
  place.down = row - upper;
  place.right = column - left;
  for (int corner = 0; corner < 4; ++corner) {
    const std::int64_t i = static_cast<std::int64_t>(upper) + corner / 2,
                       j = static_cast<std::int64_t>(left) + corner % 2;
    place.valid[corner] = i >= 0 && i < job.height && j >= 0 && j < job.width;
    place.pixels[corner] = place.valid[corner] ? i * job.width + j : 0;
  }
  return place;
}

// Where tap number `tap` of an output place reads; `offset`: of the group.
template <typename T>
DeformPlace<T> placeOf(const DeformJob& job, const T* offset, std::int64_t tap, std::int64_t at) {
  const std::int64_t places = job.out_height * job.out_width;
  const std::int64_t row = at / job.out_width * job.stride_height - job.pad_height +
                           tap / job.kernel_width * job.dilation_height,
                     column = at % job.out_width * job.stride_width - job.pad_width +
                              tap % job.kernel_width * job.dilation_width;
  return placeBetween(job, static_cast<T>(row) + offset[2 * tap * places + at],
                      static_cast<T>(column) + offset[(2 * tap + 1) * places + at]);
}

template <typename T>
T pixelOrZero(const DeformPlace<T>& place, const T* x, int corner) {
  return place.valid[corner] ? x[place.pixels[corner]] : T(0);
}

template <typename T>
T valueAt(const DeformPlace<T>& place, const T* x) {
  T sum = 0;
  for (int corner = 0; corner < 4; ++corner) sum += place.weight(corner) * pixelOrZero(place, x, corner);
  return sum;
}

// How the value changes as the place moves down, or to the right.
template <typename T>
T slopeAt(const DeformPlace<T>& place, const T* x, bool down) {
  const T a = pixelOrZero(place, x, 0), b = pixelOrZero(place, x, 1), c = pixelOrZero(place, x, 2),
          d = pixelOrZero(place, x, 3);
  return down ? place.right * (d - b) + (1 - place.right) * (c - a) : place.down * (d - c) + (1 - place.down) * (b - a);
}

// The gradient of x in the channels of a group.
template <typename T>
void spreadColumns(const DeformJob& job, const T* grad, const T* offset, const T* mask, std::int64_t begin,
                   std::int64_t end, T* grad_x) {
  const DeformSizes of(job);
  for (std::int64_t c = begin; c < end; ++c) {
    const std::int64_t group = c / of.group * of.taps;
    for (std::int64_t tap = 0; tap < of.taps; ++tap) {
      for (std::int64_t at = 0; at < of.places; ++at) {
        const DeformPlace<T> place = placeOf(job, offset + 2 * group * of.places, tap, at);
        if (!place.inside) continue;
        const T share = grad[(c * of.taps + tap) * of.places + at] *
                        (mask == nullptr ? T(1) : mask[(group + tap) * of.places + at]);
        for (int corner = 0; corner < 4; ++corner)
          grad_x[c * of.pixels + place.pixels[corner]] += share * place.weight(corner);
      }
    }
  }
}

// The gradients of the places of one tap of a group.
template <typename T>
void movePlaces(const DeformJob& job, const T* grad, const T* x, const T* offset, const T* mask, std::int64_t item,
                T* grad_offset, T* grad_mask) {
  const DeformSizes of(job);
  const std::int64_t group = item / of.taps, tap = item % of.taps;
  for (std::int64_t at = 0; at < of.places; ++at) {
    const DeformPlace<T> place = placeOf(job, offset + 2 * group * of.taps * of.places, tap, at);
    T down = 0, right = 0, value = 0;
    for (std::int64_t c = group * of.group; c < (group + 1) * of.group; ++c) {
      const T share = grad[(c * of.taps + tap) * of.places + at];
      const T* const from = x + c * of.pixels;
      down += share * slopeAt(place, from, true);
      right += share * slopeAt(place, from, false);
      if (place.inside) value += share * valueAt(place, from);
    }
    const T factor = mask == nullptr ? T(1) : mask[item * of.places + at];
    grad_offset[2 * item * of.places + at] = down * factor;
    grad_offset[(2 * item + 1) * of.places + at] = right * factor;
    if (grad_mask != nullptr) grad_mask[item * of.places + at] = value;
  }
}

}  // namespace

template <typename T>
void deformColumns(const DeformJob& job, const T* x, const T* offset, const T* mask, T* columns) {
  const DeformSizes of(job);
  // An item is a tap of a group, whose places are computed once for its channels.
  const auto fill = [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t item = begin; item < end; ++item) {
      const std::int64_t group = item / of.taps, tap = item % of.taps;
      for (std::int64_t at = 0; at < of.places; ++at) {
        const DeformPlace<T> place = placeOf(job, offset + 2 * group * of.taps * of.places, tap, at);
        const T factor = mask == nullptr ? T(1) : mask[item * of.places + at];
        for (std::int64_t c = group * of.group; c < (group + 1) * of.group; ++c) {
          columns[(c * of.taps + tap) * of.places + at] =
              place.inside ? factor * valueAt(place, x + c * of.pixels) : T(0);
        }
      }
    }
  };
  parallelFor(job.offset_groups * of.taps, grainFor(of.places * of.group * 8), job.threads, fill);
}

template <typename T>
void deformColumnsBackward(const DeformJob& job, const T* grad_columns, const T* x, const T* offset, const T* mask,
                           T* grad_x, T* grad_offset, T* grad_mask) {
  const DeformSizes of(job);
  const std::int64_t work = of.taps * of.places * 16;
  parallelFor(job.channels, grainFor(work), job.threads, [&](std::int64_t begin, std::int64_t end, int) {
    std::fill(grad_x + begin * of.pixels, grad_x + end * of.pixels, T(0));
    spreadColumns(job, grad_columns, offset, mask, begin, end, grad_x);
  });
  parallelFor(job.offset_groups * of.taps, grainFor(of.places * of.group * 16), job.threads,
              [&](std::int64_t begin, std::int64_t end, int) {
                for (std::int64_t item = begin; item < end; ++item)
                  movePlaces(job, grad_columns, x, offset, mask, item, grad_offset, grad_mask);
              });
}

template void deformColumns(const DeformJob&, const float*, const float*, const float*, float*);
template void deformColumns(const DeformJob&, const double*, const double*, const double*, double*);
template void deformColumnsBackward(const DeformJob&, const float*, const float*, const float*, const float*, float*,
                                    float*, float*);
template void deformColumnsBackward(const DeformJob&, const double*, const double*, const double*, const double*,
                                    double*, double*, double*);

}  // namespace ipex_studio
