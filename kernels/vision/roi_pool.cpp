// Greatest values of bins, one region of interest and channel after the other.
#include "kernels/vision/roi_pool.h"

#include <cfloat>

#include "kernels/common/parallel.h"
#include "kernels/vision/roi_bins.h"

namespace ipex_studio {
namespace {

// The greatest pixel of a bin of one channel; -1 if there is none.
template <typename T>
std::int64_t greatest(const T* x, std::int64_t width, PixelRange rows, PixelRange columns, T* value) {
  std::int64_t place = -1;
  for (std::int64_t row = rows.begin; row < rows.end; ++row) {
    for (std::int64_t pixel = row * width + columns.begin; pixel < row * width + columns.end; ++pixel) {
      if (!(x[pixel] > *value)) continue;
      *value = x[pixel];
      place = pixel;
    }
  }
  return place;
}

}  // namespace

template <typename T>
void roiPool(const RoiAlignJob& job, const T* x, const T* rois, T* y, std::int32_t* pixels) {
  const std::int64_t bins = job.pooled_height * job.pooled_width, area = job.height * job.width;
  const auto pool = [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t item = begin; item < end; ++item) {
      const T* const roi = rois + 5 * (item / job.channels);
      const T* const from = x + (static_cast<std::int64_t>(roi[0]) * job.channels + item % job.channels) * area;
      const auto across = RoiPixels<T>::read(job, roi[1], roi[3], job.pooled_width, true),
                 down = RoiPixels<T>::read(job, roi[2], roi[4], job.pooled_height, true);
      for (std::int64_t bin = 0; bin < bins; ++bin) {
        const PixelRange rows = down.range(bin / job.pooled_width, job.height),
                         columns = across.range(bin % job.pooled_width, job.width);
        const bool empty = rows.begin >= rows.end || columns.begin >= columns.end;
        T value = empty ? T(0) : static_cast<T>(-FLT_MAX);
        pixels[item * bins + bin] = static_cast<std::int32_t>(greatest(from, job.width, rows, columns, &value));
        y[item * bins + bin] = value;
      }
    }
  };
  parallelFor(job.rois * job.channels, grainFor(bins * 8), job.threads, pool);
}

template <typename T>
void roiPoolBackward(const RoiAlignJob& job, const T* grad_y, const T* rois, const std::int32_t* pixels, T* grad_x) {
  const std::int64_t bins = job.pooled_height * job.pooled_width, area = job.height * job.width;
  parallelFor(job.images * job.channels, grainFor(area), job.threads, [&](std::int64_t begin, std::int64_t end, int) {
    std::fill(grad_x + begin * area, grad_x + end * area, T(0));
    for (std::int64_t item = begin; item < end; ++item) {
      for (std::int64_t r = 0; r < job.rois; ++r) {
        if (static_cast<std::int64_t>(rois[5 * r]) != item / job.channels) continue;
        const std::int64_t first = (r * job.channels + item % job.channels) * bins;
        for (std::int64_t bin = first; bin < first + bins; ++bin) {
          if (pixels[bin] >= 0) grad_x[item * area + pixels[bin]] += grad_y[bin];
        }
      }
    }
  });
}

template void roiPool(const RoiAlignJob&, const float*, const float*, float*, std::int32_t*);
template void roiPool(const RoiAlignJob&, const double*, const double*, double*, std::int32_t*);
template void roiPoolBackward(const RoiAlignJob&, const float*, const float*, const std::int32_t*, float*);
template void roiPoolBackward(const RoiAlignJob&, const double*, const double*, const std::int32_t*, double*);

}  // namespace ipex_studio
