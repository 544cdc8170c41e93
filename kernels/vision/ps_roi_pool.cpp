// Position-sensitive averages, one bin after the other.
#include "kernels/vision/ps_roi_pool.h"

#include "kernels/common/parallel.h"
#include "kernels/vision/roi_bins.h"

namespace ipex_studio {
namespace {

struct BinPixels {
  PixelRange rows, columns;

  bool empty() const { return rows.begin >= rows.end || columns.begin >= columns.end; }
  std::int64_t count() const { return (rows.end - rows.begin) * (columns.end - columns.begin); }
};

template <typename T>
BinPixels pixelsOfBin(const RoiAlignJob& job, const T* roi, std::int64_t bin) {
  const auto across = RoiPixels<T>::read(job, roi[1], roi[3], job.pooled_width, false),
             down = RoiPixels<T>::read(job, roi[2], roi[4], job.pooled_height, false);
  return {down.range(bin / job.pooled_width, job.height - 1), across.range(bin % job.pooled_width, job.width - 1)};
}

}  // namespace

template <typename T>
void psRoiPool(const RoiAlignJob& job, const T* x, const T* rois, T* y) {
  const std::int64_t bins = job.pooled_height * job.pooled_width, area = job.height * job.width;
  const auto pool = [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t item = begin; item < end; ++item) {
      const T* const roi = rois + 5 * (item / job.channels);
      const std::int64_t channel = item % job.channels;
      const T* const from = x + (static_cast<std::int64_t>(roi[0]) * job.channels + channel) * area;
      const BinPixels pixels = pixelsOfBin(job, roi, channel % bins);
      T sum = 0;
      for (std::int64_t row = pixels.rows.begin; row < pixels.rows.end; ++row) {
        for (std::int64_t column = pixels.columns.begin; column < pixels.columns.end; ++column)
          sum += from[row * job.width + column];
      }
      y[item] = pixels.empty() ? T(0) : sum / static_cast<T>(pixels.count());
    }
  };
  parallelFor(job.rois * job.channels, grainFor(64), job.threads, pool);
}

template <typename T>
void psRoiPoolBackward(const RoiAlignJob& job, const T* grad_y, const T* rois, T* grad_x) {
  const std::int64_t bins = job.pooled_height * job.pooled_width, area = job.height * job.width;
  parallelFor(job.images * job.channels, grainFor(area), job.threads, [&](std::int64_t begin, std::int64_t end, int) {
    std::fill(grad_x + begin * area, grad_x + end * area, T(0));
    for (std::int64_t item = begin; item < end; ++item) {
      const std::int64_t channel = item % job.channels;
      for (std::int64_t r = 0; r < job.rois; ++r) {
        if (static_cast<std::int64_t>(rois[5 * r]) != item / job.channels) continue;
        const BinPixels pixels = pixelsOfBin(job, rois + 5 * r, channel % bins);
        if (pixels.empty()) continue;
        const T grad = grad_y[r * job.channels + channel] / static_cast<T>(pixels.count());
        for (std::int64_t row = pixels.rows.begin; row < pixels.rows.end; ++row) {
          for (std::int64_t column = pixels.columns.begin; column < pixels.columns.end; ++column)
            grad_x[item * area + row * job.width + column] += grad;
        }
      }
    }
  });
}

template void psRoiPool(const RoiAlignJob&, const float*, const float*, float*);
template void psRoiPool(const RoiAlignJob&, const double*, const double*, double*);
template void psRoiPoolBackward(const RoiAlignJob&, const float*, const float*, float*);
template void psRoiPoolBackward(const RoiAlignJob&, const double*, const double*, double*);

}  // namespace ipex_studio
