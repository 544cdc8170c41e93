// Position-sensitive samples, one bin after the other.
#include "kernels/vision/ps_roi_align.h"

#include "kernels/common/parallel.h"
#include "kernels/vision/roi_grid.h"

namespace ipex_studio {
namespace {

// Calls visit(row, column) for the samples of a bin that lie in the image.
template <typename T, typename Visit>
void forEachSampleOf(const RoiAlignJob& job, const RoiGrid<T>& grid, std::int64_t bin, const Visit& visit) {
  const std::int64_t row = bin / job.pooled_width * grid.grid_height, column = bin % job.pooled_width * grid.grid_width;
  for (std::int64_t i = row; i < row + grid.grid_height; ++i) {
    for (std::int64_t j = column; j < column + grid.grid_width; ++j) {
      if (grid.rows[i].low >= 0 && grid.columns[j].low >= 0) visit(grid.rows[i], grid.columns[j]);
    }
  }
}

template <typename T>
T samplesOfBin(const RoiGrid<T>& grid) {
  return static_cast<T>(grid.grid_height * grid.grid_width);
}

}  // namespace

template <typename T>
void psRoiAlign(const RoiAlignJob& job, const T* x, const T* rois, T* y) {
  const std::int64_t bins = job.pooled_height * job.pooled_width, area = job.height * job.width,
                     results = job.channels / bins;
  parallelFor(job.rois, grainFor(job.channels * 32), job.threads, [&](std::int64_t begin, std::int64_t end, int) {
    RoiGrid<T> grid;
    for (std::int64_t r = begin; r < end; ++r) {
      grid.read(job, rois + 5 * r);
      for (std::int64_t k = 0; k < results * bins; ++k) {
        const T* const from = x + (grid.image * job.channels + k) * area;
        T sum = 0;
        forEachSampleOf(job, grid, k % bins, [&](const AxisSample<T>& row, const AxisSample<T>& column) {
          const T *const upper = from + row.low * job.width, *const lower = from + row.high * job.width;
          sum += row.near * column.near * upper[column.low] + row.near * column.far * upper[column.high] +
                 row.far * column.near * lower[column.low] + row.far * column.far * lower[column.high];
        });
        y[r * results * bins + k] = sum / samplesOfBin(grid);
      }
    }
  });
}

template <typename T>
void psRoiAlignBackward(const RoiAlignJob& job, const T* grad_y, const T* rois, T* grad_x) {
  const std::int64_t bins = job.pooled_height * job.pooled_width, area = job.height * job.width;
  std::vector<RoiGrid<T>> grids(static_cast<std::size_t>(job.rois));
  for (std::int64_t r = 0; r < job.rois; ++r) grids[r].read(job, rois + 5 * r);
  parallelFor(job.images * job.channels, grainFor(area), job.threads, [&](std::int64_t begin, std::int64_t end, int) {
    std::fill(grad_x + begin * area, grad_x + end * area, T(0));
    for (std::int64_t item = begin; item < end; ++item) {
      const std::int64_t channel = item % job.channels;
      T* const to = grad_x + item * area;
      for (std::int64_t r = 0; r < job.rois; ++r) {
        if (grids[r].image != item / job.channels) continue;
        const T grad = grad_y[r * job.channels + channel], count = samplesOfBin(grids[r]);
        forEachSampleOf(job, grids[r], channel % bins, [&](const AxisSample<T>& row, const AxisSample<T>& column) {
          T *const upper = to + row.low * job.width, *const lower = to + row.high * job.width;
          upper[column.low] += grad * (row.near * column.near) / count;
          upper[column.high] += grad * (row.near * column.far) / count;
          lower[column.low] += grad * (row.far * column.near) / count;
          lower[column.high] += grad * (row.far * column.far) / count;
        });
      }
    }
  });
}

template void psRoiAlign(const RoiAlignJob&, const float*, const float*, float*);
template void psRoiAlign(const RoiAlignJob&, const double*, const double*, double*);
template void psRoiAlignBackward(const RoiAlignJob&, const float*, const float*, float*);
template void psRoiAlignBackward(const RoiAlignJob&, const double*, const double*, double*);

}  // namespace ipex_studio
