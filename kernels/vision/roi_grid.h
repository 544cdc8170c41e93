// Where a region of interest is sampled: the rows and columns of its grid, which are independent of each other.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/vision/roi_align.h"

namespace ipex_studio {

// A sample along an axis: between the pixels `low` and `high`, `far` of the way. Outside of the image: low = -1.
template <typename T>
struct AxisSample {
  std::int32_t low = -1, high = -1;
  T far = 0, near = 0;
};

template <typename T>
struct RoiAxis {
  T start = 0, bin = 0;
  std::int64_t grid = 0;  // samples of a bin; 0 for an extent that is not positive
};

// Numbers are rounded to T where torchvision does.
template <typename T>
RoiAxis<T> roiAxis(const RoiAlignJob& job, T begin, T end, std::int64_t bins) {
  const T scale = static_cast<T>(job.spatial_scale), offset = job.aligned ? T(0.5) : T(0);
  RoiAxis<T> axis;
  axis.start = begin * scale - offset;
  T extent = end * scale - offset - axis.start;
  if (!job.aligned) extent = std::max(extent, T(1));
  axis.bin = extent / static_cast<T>(bins);
  const T pixels = std::ceil(axis.bin);
  const bool few = pixels <= static_cast<T>(kMaxRoiSamples);  // false for NaN, too
  axis.grid = job.sampling_ratio > 0 ? job.sampling_ratio
              : !few                 ? kMaxRoiSamples
              : pixels > 0           ? static_cast<std::int64_t>(pixels)
                                     : 0;
  return axis;
}

template <typename T>
AxisSample<T> axisSample(T at, std::int64_t size) {
  AxisSample<T> sample;
  if (!(at >= T(-1) && at <= static_cast<T>(size))) return sample;
  if (at <= T(0)) at = T(0);  // not -0
  sample.low = static_cast<std::int32_t>(at);
  sample.high = sample.low + 1;
  if (sample.low >= size - 1) {
    sample.low = sample.high = static_cast<std::int32_t>(size - 1);
    at = static_cast<T>(sample.low);
  }
  sample.far = at - static_cast<T>(sample.low);
  sample.near = T(1) - sample.far;
  return sample;
}

// The samples of all bins of an axis, in order.
template <typename T>
void sampleAxis(const RoiAxis<T>& axis, std::int64_t bins, std::int64_t size, std::vector<AxisSample<T>>* samples) {
  samples->clear();
  for (std::int64_t bin = 0; bin < bins; ++bin) {
    for (std::int64_t i = 0; i < axis.grid; ++i) {
      const T at = axis.start + static_cast<T>(bin) * axis.bin +
                   (static_cast<T>(i) + T(0.5)) * axis.bin / static_cast<T>(axis.grid);
      samples->push_back(axisSample(at, size));
    }
  }
}

template <typename T>
struct RoiGrid {
  std::int64_t image = 0, grid_height = 0, grid_width = 0;
  std::vector<AxisSample<T>> rows, columns;
  T count = 1;  // samples of a bin

  void read(const RoiAlignJob& job, const T* roi) {
    const RoiAxis<T> across = roiAxis(job, roi[1], roi[3], job.pooled_width),
                     down = roiAxis(job, roi[2], roi[4], job.pooled_height);
    image = static_cast<std::int64_t>(roi[0]);
    grid_height = down.grid;
    grid_width = across.grid;
    count = static_cast<T>(std::max<std::int64_t>(1, grid_height * grid_width));
    sampleAxis(down, job.pooled_height, job.height, &rows);
    sampleAxis(across, job.pooled_width, job.width, &columns);
  }
};

// The number of samples of a region of interest, or of its rows or columns if those are more; above kMaxRoiSamples for
// one whose sizes are no numbers.
template <typename T>
std::int64_t roiSamples(const RoiAlignJob& job, const T* roi) {
  const double across = static_cast<double>(roiAxis(job, roi[1], roi[3], job.pooled_width).grid),
               down = static_cast<double>(roiAxis(job, roi[2], roi[4], job.pooled_height).grid);
  const double samples = across * down * static_cast<double>(job.pooled_height * job.pooled_width);
  const double least =
      std::max(across * static_cast<double>(job.pooled_width), down * static_cast<double>(job.pooled_height));
  return static_cast<std::int64_t>(std::min(std::max(samples, least), 2.0 * static_cast<double>(kMaxRoiSamples)));
}

// What one instruction set computes, for items [begin, end): the last two arguments.
template <typename T>
struct RoiAlignRuns {
  using Run = void (*)(const RoiAlignJob&, const std::vector<RoiGrid<T>>&, const T*, T*, std::int64_t, std::int64_t);
  std::int64_t lanes = 1;
  Run images = nullptr, rois = nullptr;  // forward, by images and by regions of interest, each × blocks of channels
  Run backward = nullptr;                // by images × blocks of channels
};

}  // namespace ipex_studio
