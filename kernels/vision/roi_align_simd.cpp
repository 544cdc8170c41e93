// Regions of interest and their gradient with channels as the lanes of vectors.
//
// A block of channels is copied so that one load takes a pixel of all its channels: the whole image where the regions
// of interest touch more pixels than it has, else the pixels that each region touches. The gradient of a block is
// summed in that order and then put in place. Regions come in their order, whatever the number of threads. Sums are
// those of torchvision to the bit: products are not fused with them (kernels/CMakeLists.txt).
#define HWY_TARGET_INCLUDE "kernels/vision/roi_align_simd.cpp"
#include "kernels/common/simd-inl.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "kernels/vision/roi_grid.h"

HWY_BEFORE_NAMESPACE();
namespace ipex_studio::HWY_NAMESPACE {

// Returns the rows or columns that samples touch, and numbers them from 0 in the samples.
template <typename T>
std::vector<std::int32_t> renumber(std::vector<AxisSample<T>>* samples) {
  std::vector<std::int32_t> lines;
  // Samples ascend, so that a line is one of the last two or new; where an extent is negative, some are there twice.
  const auto place = [&lines](std::int32_t line) {
    const auto count = static_cast<std::int32_t>(lines.size());
    if (count > 0 && lines[count - 1] == line) return count - 1;
    if (count > 1 && lines[count - 2] == line) return count - 2;
    lines.push_back(line);
    return count;
  };
  for (AxisSample<T>& sample : *samples) {
    if (sample.low < 0) continue;
    sample.low = place(sample.low);
    sample.high = place(sample.high);
  }
  return lines;
}

// Copies the pixels in these rows and columns of `count` channels from `x` on to to[row][column][lane]; the lanes left
// over become 0.
template <typename T>
void copyPixels(const RoiAlignJob& job, const std::vector<std::int32_t>& rows, const std::vector<std::int32_t>& columns,
                const T* x, std::int64_t count, std::int64_t lanes, T* to) {
  for (std::int64_t c = 0; c < lanes; ++c) {
    T* at = to + c;
    for (const std::int32_t row : rows) {
      const T* const from = x + (c * job.height + row) * job.width;
      for (std::size_t k = 0; k < columns.size(); ++k, at += lanes) *at = c < count ? from[columns[k]] : T(0);
    }
  }
}

// bins[bin][lane] from pixels[row][column][lane] of `wide` columns.
template <typename T>
void averageBins(const RoiAlignJob& job, const RoiGrid<T>& grid, const T* pixels, std::int64_t wide, T* bins) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto count = hn::Set(d, grid.count);
  for (std::int64_t ph = 0; ph < job.pooled_height; ++ph) {
    for (std::int64_t pw = 0; pw < job.pooled_width; ++pw, bins += lanes) {
      auto sum = hn::Zero(d);
      for (std::int64_t i = ph * grid.grid_height; i < (ph + 1) * grid.grid_height; ++i) {
        const AxisSample<T>& row = grid.rows[i];
        if (row.low < 0) continue;
        const T *const upper = pixels + row.low * wide * lanes, *const lower = pixels + row.high * wide * lanes;
        for (std::int64_t j = pw * grid.grid_width; j < (pw + 1) * grid.grid_width; ++j) {
          const AxisSample<T>& column = grid.columns[j];
          if (column.low < 0) continue;
          const std::int64_t left = column.low * lanes, right = column.high * lanes;
          const auto a = hn::Mul(hn::Set(d, row.near * column.near), hn::LoadU(d, upper + left));
          const auto b = hn::Mul(hn::Set(d, row.near * column.far), hn::LoadU(d, upper + right));
          const auto e = hn::Mul(hn::Set(d, row.far * column.near), hn::LoadU(d, lower + left));
          const auto f = hn::Mul(hn::Set(d, row.far * column.far), hn::LoadU(d, lower + right));
          sum = hn::Add(sum, hn::Add(hn::Add(hn::Add(a, b), e), f));
        }
      }
      hn::StoreU(hn::Div(sum, count), d, bins);
    }
  }
}

// Copies bins[bin][lane] to `count` channels of a region of interest.
template <typename T>
void storeBins(const T* bins, std::int64_t places, std::int64_t count, std::int64_t lanes, T* to) {
  for (std::int64_t k = 0; k < count; ++k) {
    for (std::int64_t bin = 0; bin < places; ++bin) to[k * places + bin] = bins[bin * lanes + k];
  }
}

// Items [begin, end) of images × blocks of channels.
template <typename T>
void alignImages(const RoiAlignJob& job, const std::vector<RoiGrid<T>>& grids, const T* x, T* y, std::int64_t begin,
                 std::int64_t end) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<T>()));
  const std::int64_t places = job.pooled_height * job.pooled_width, blocks = (job.channels + lanes - 1) / lanes;
  std::vector<T> bins(static_cast<std::size_t>(places * lanes)),
      pixels(static_cast<std::size_t>(job.height * job.width * lanes));
  std::vector<std::int32_t> rows(static_cast<std::size_t>(job.height)), columns(static_cast<std::size_t>(job.width));
  std::iota(rows.begin(), rows.end(), 0);
  std::iota(columns.begin(), columns.end(), 0);
  for (std::int64_t item = begin; item < end; ++item) {
    const std::int64_t image = item / blocks, c = item % blocks * lanes, count = std::min(lanes, job.channels - c);
    copyPixels(job, rows, columns, x + (image * job.channels + c) * job.height * job.width, count, lanes,
               pixels.data());
    for (std::int64_t r = 0; r < job.rois; ++r) {
      if (grids[r].image != image) continue;
      averageBins(job, grids[r], pixels.data(), job.width, bins.data());
      storeBins(bins.data(), places, count, lanes, y + (r * job.channels + c) * places);
    }
  }
}

// Items [begin, end) of rois × blocks of channels.
template <typename T>
void alignRois(const RoiAlignJob& job, const std::vector<RoiGrid<T>>& grids, const T* x, T* y, std::int64_t begin,
               std::int64_t end) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<T>()));
  const std::int64_t places = job.pooled_height * job.pooled_width, blocks = (job.channels + lanes - 1) / lanes;
  std::vector<T> bins(static_cast<std::size_t>(places * lanes)), pixels;
  RoiGrid<T> grid;
  std::vector<std::int32_t> rows, columns;
  for (std::int64_t item = begin, last = -1; item < end; ++item) {
    const std::int64_t r = item / blocks, c = item % blocks * lanes, count = std::min(lanes, job.channels - c);
    if (r != last) {
      grid = grids[r];
      rows = renumber(&grid.rows);
      columns = renumber(&grid.columns);
      pixels.resize(rows.size() * columns.size() * static_cast<std::size_t>(lanes));
      last = r;
    }
    const T* const from = x + (grid.image * job.channels + c) * job.height * job.width;
    copyPixels(job, rows, columns, from, count, lanes, pixels.data());
    averageBins(job, grid, pixels.data(), static_cast<std::int64_t>(columns.size()), bins.data());
    storeBins(bins.data(), places, count, lanes, y + (r * job.channels + c) * places);
  }
}

// Adds to a pixel of all lanes.
template <typename T, typename V>
HWY_INLINE void addTo(T* pixel, V grad, T weight, V count) {
  const hn::ScalableTag<T> d;
  hn::StoreU(hn::Add(hn::LoadU(d, pixel), hn::Div(hn::Mul(grad, hn::Set(d, weight)), count)), d, pixel);
}

// Adds what the bins of a region of interest give to the pixels of a block of channels, pixels[row][column][lane].
template <typename T>
void spreadBins(const RoiAlignJob& job, const RoiGrid<T>& grid, const T* bins, T* pixels) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto count = hn::Set(d, grid.count);
  for (std::int64_t ph = 0; ph < job.pooled_height; ++ph) {
    for (std::int64_t pw = 0; pw < job.pooled_width; ++pw, bins += lanes) {
      const auto grad = hn::LoadU(d, bins);
      for (std::int64_t i = ph * grid.grid_height; i < (ph + 1) * grid.grid_height; ++i) {
        const AxisSample<T>& row = grid.rows[i];
        if (row.low < 0) continue;
        T *const upper = pixels + row.low * job.width * lanes, *const lower = pixels + row.high * job.width * lanes;
        for (std::int64_t j = pw * grid.grid_width; j < (pw + 1) * grid.grid_width; ++j) {
          const AxisSample<T>& column = grid.columns[j];
          if (column.low < 0) continue;
          addTo(upper + column.low * lanes, grad, row.near * column.near, count);
          addTo(upper + column.high * lanes, grad, row.near * column.far, count);
          addTo(lower + column.low * lanes, grad, row.far * column.near, count);
          addTo(lower + column.high * lanes, grad, row.far * column.far, count);
        }
      }
    }
  }
}

// Items [begin, end) of images × blocks of channels. `grids`: of all regions of interest.
template <typename T>
void alignRoisBackward(const RoiAlignJob& job, const std::vector<RoiGrid<T>>& grids, const T* grad_y, T* grad_x,
                       std::int64_t begin, std::int64_t end) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<T>()));
  const std::int64_t bins = job.pooled_height * job.pooled_width, pixels = job.height * job.width,
                     blocks = (job.channels + lanes - 1) / lanes;
  std::vector<T> sums(static_cast<std::size_t>(pixels * lanes)), grads(static_cast<std::size_t>(bins * lanes));
  for (std::int64_t item = begin; item < end; ++item) {
    const std::int64_t image = item / blocks, c = item % blocks * lanes, count = std::min(lanes, job.channels - c);
    std::fill(sums.begin(), sums.end(), T(0));
    for (std::int64_t r = 0; r < job.rois; ++r) {
      if (grids[r].image != image) continue;
      const T* const from = grad_y + (r * job.channels + c) * bins;
      for (std::int64_t k = 0; k < count; ++k) {
        for (std::int64_t bin = 0; bin < bins; ++bin) grads[bin * lanes + k] = from[k * bins + bin];
      }
      spreadBins(job, grids[r], grads.data(), sums.data());
    }
    T* const to = grad_x + (image * job.channels + c) * pixels;
    for (std::int64_t k = 0; k < count; ++k) {
      for (std::int64_t pixel = 0; pixel < pixels; ++pixel) to[k * pixels + pixel] = sums[pixel * lanes + k];
    }
  }
}

template <typename T>
std::int64_t roiLanes() {
  return static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<T>()));
}

// Highway's tables hold functions that are no templates.
template <typename T>
RoiAlignRuns<T> roiAlignRuns() {
  return {roiLanes<T>(), &alignImages<T>, &alignRois<T>, &alignRoisBackward<T>};
}
RoiAlignRuns<float> roiAlignRunsF32() { return roiAlignRuns<float>(); }
RoiAlignRuns<double> roiAlignRunsF64() { return roiAlignRuns<double>(); }

}  // namespace ipex_studio::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <cstdlib>
#include <type_traits>

#include "kernels/common/parallel.h"

namespace ipex_studio {
namespace {

HWY_EXPORT(roiAlignRunsF32);
HWY_EXPORT(roiAlignRunsF64);

template <typename T>
RoiAlignRuns<T> runsFor(const std::string& isa) {
  if constexpr (std::is_same_v<T, float>) {
    return IPEX_SELECT_TARGET(roiAlignRunsF32, isa)();
  } else {
    return IPEX_SELECT_TARGET(roiAlignRunsF64, isa)();
  }
}

template <typename T>
std::vector<RoiGrid<T>> readGrids(const RoiAlignJob& job, const T* rois) {
  std::vector<RoiGrid<T>> grids(static_cast<std::size_t>(job.rois));
  parallelFor(job.rois, grainFor(256), job.threads, [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t r = begin; r < end; ++r) grids[r].read(job, rois + 5 * r);
  });
  return grids;
}

// Rows or columns that samples touch, about.
template <typename T>
std::int64_t touched(const std::vector<AxisSample<T>>& samples) {
  if (samples.empty()) return 0;
  const std::int64_t span = std::abs(samples.back().high - samples.front().low) + 1;
  return std::min(span, 2 * static_cast<std::int64_t>(samples.size()));
}

}  // namespace

template <typename T>
void roiAlign(const RoiAlignJob& job, const T* x, const T* rois, T* y) {
  const RoiAlignRuns<T> runs = runsFor<T>(job.isa);
  const std::vector<RoiGrid<T>> grids = readGrids(job, rois);
  const std::int64_t blocks = (job.channels + runs.lanes - 1) / runs.lanes, bins = job.pooled_height * job.pooled_width;
  std::int64_t pixels = 0;
  for (const RoiGrid<T>& grid : grids) pixels += touched(grid.rows) * touched(grid.columns);
  const bool whole_images = pixels > job.images * job.height * job.width;
  const std::int64_t items = whole_images ? job.images : job.rois;
  const std::int64_t ops = runs.lanes * (pixels + 8 * bins * job.rois) / std::max<std::int64_t>(1, items);
  parallelFor(items * blocks, grainFor(ops), job.threads, [&](std::int64_t begin, std::int64_t end, int) {
    (whole_images ? runs.images : runs.rois)(job, grids, x, y, begin, end);
  });
}

template <typename T>
void roiAlignBackward(const RoiAlignJob& job, const T* grad_y, const T* rois, T* grad_x) {
  const RoiAlignRuns<T> runs = runsFor<T>(job.isa);
  const std::vector<RoiGrid<T>> grids = readGrids(job, rois);
  const std::int64_t blocks = (job.channels + runs.lanes - 1) / runs.lanes;
  parallelFor(
      job.images * blocks, grainFor(job.height * job.width * runs.lanes), job.threads,
      [&](std::int64_t begin, std::int64_t end, int) { runs.backward(job, grids, grad_y, grad_x, begin, end); });
}

template void roiAlign(const RoiAlignJob&, const float*, const float*, float*);
template void roiAlign(const RoiAlignJob&, const double*, const double*, double*);
template void roiAlignBackward(const RoiAlignJob&, const float*, const float*, float*);
template void roiAlignBackward(const RoiAlignJob&, const double*, const double*, double*);

}  // namespace ipex_studio

#endif  // HWY_ONCE
