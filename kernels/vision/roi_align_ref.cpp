// Regions of interest and their gradient, one number after the other.
#include "kernels/vision/roi_grid.h"

namespace ipex_studio {
namespace {

// Calls visit(place in y, row sample, column sample) for all samples of a region of interest, bin by bin; samples
// outside are left out.
template <typename T, typename Visit>
void forEachSample(const RoiAlignJob& job, const RoiGrid<T>& grid, const Visit& visit) {
  for (std::int64_t bin = 0; bin < job.pooled_height * job.pooled_width; ++bin) {
    const std::int64_t row = bin / job.pooled_width * grid.grid_height,
                       column = bin % job.pooled_width * grid.grid_width;
    for (std::int64_t i = row; i < row + grid.grid_height; ++i) {
      for (std::int64_t j = column; j < column + grid.grid_width; ++j) {
        if (grid.rows[i].low >= 0 && grid.columns[j].low >= 0) visit(bin, grid.rows[i], grid.columns[j]);
      }
    }
  }
}

}  // namespace

template <typename T>
void roiAlignRef(const RoiAlignJob& job, const T* x, const T* rois, T* y) {
  const std::int64_t bins = job.pooled_height * job.pooled_width, pixels = job.height * job.width;
  RoiGrid<T> grid;
  for (std::int64_t r = 0; r < job.rois; ++r) {
    grid.read(job, rois + 5 * r);
    for (std::int64_t c = 0; c < job.channels; ++c) {
      const T* const from = x + (grid.image * job.channels + c) * pixels;
      T* const to = y + (r * job.channels + c) * bins;
      std::fill(to, to + bins, T(0));
      forEachSample(job, grid, [&](std::int64_t bin, const AxisSample<T>& row, const AxisSample<T>& column) {
        const T *const upper = from + row.low * job.width, *const lower = from + row.high * job.width;
        to[bin] += row.near * column.near * upper[column.low] + row.near * column.far * upper[column.high] +
                   row.far * column.near * lower[column.low] + row.far * column.far * lower[column.high];
      });
      for (std::int64_t bin = 0; bin < bins; ++bin) to[bin] /= grid.count;
    }
  }
}

template <typename T>
void roiAlignBackwardRef(const RoiAlignJob& job, const T* grad_y, const T* rois, T* grad_x) {
  const std::int64_t bins = job.pooled_height * job.pooled_width, pixels = job.height * job.width;
  std::fill(grad_x, grad_x + job.images * job.channels * pixels, T(0));
  RoiGrid<T> grid;
  for (std::int64_t r = 0; r < job.rois; ++r) {
    grid.read(job, rois + 5 * r);
    for (std::int64_t c = 0; c < job.channels; ++c) {
      const T* const from = grad_y + (r * job.channels + c) * bins;
      T* const to = grad_x + (grid.image * job.channels + c) * pixels;
      forEachSample(job, grid, [&](std::int64_t bin, const AxisSample<T>& row, const AxisSample<T>& column) {
        T *const upper = to + row.low * job.width, *const lower = to + row.high * job.width;
        upper[column.low] += from[bin] * (row.near * column.near) / grid.count;
        upper[column.high] += from[bin] * (row.near * column.far) / grid.count;
        lower[column.low] += from[bin] * (row.far * column.near) / grid.count;
        lower[column.high] += from[bin] * (row.far * column.far) / grid.count;
      });
    }
  }
}

template void roiAlignRef(const RoiAlignJob&, const float*, const float*, float*);
template void roiAlignRef(const RoiAlignJob&, const double*, const double*, double*);
template void roiAlignBackwardRef(const RoiAlignJob&, const float*, const float*, float*);
template void roiAlignBackwardRef(const RoiAlignJob&, const double*, const double*, double*);

}  // namespace ipex_studio
