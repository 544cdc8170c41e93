// Weights and bias of packed matrix products in panels (packed_gemm.h).
#include <algorithm>
#include <cstring>

#include "kernels/gemm/packed_gemm.h"

namespace ipex_studio {

std::size_t packedWeightBytes(const GemmJob& job) {
  const GemmPanel& last = job.panels.back();
  return static_cast<std::size_t>(last.weights + last.width * job.rows.depth()) * sizeof(float);
}

std::size_t packedBiasBytes(const GemmJob& job) {
  const GemmPanel& last = job.panels.back();
  return static_cast<std::size_t>(last.bias + last.width) * sizeof(float);
}

namespace {

// See packWeights; pairOf(offset) is what stands in the place of a float, of the weights from `offset` on.
template <class PairOf>
void packBy(const GemmJob& job, const TensorDesc& w, std::int64_t numbers, const PairOf& pairOf, float* packed) {
  const GemmRows& rows = job.rows;
  const int spatial = w.dims.rank - 2;
  const std::int64_t taps = rows.taps();
  for (const GemmPanel& panel : job.panels) {
    for (std::int64_t j = 0; j < panel.width; ++j) {
      float* const to = packed + panel.weights + j;
      for (std::int64_t tap = 0; tap < taps; ++tap) {
        std::int64_t offset = (panel.column + j) * w.strides[0], at = tap;
        for (int axis = spatial - 1; axis >= 0; --axis) {
          offset += at % w.dims[2 + axis] * w.strides[2 + axis];
          at /= w.dims[2 + axis];
        }
        for (std::int64_t c = 0; c < rows.channels; ++c) {
          const std::int64_t k = rows.channels_innermost ? tap * rows.channels + c : c * taps + tap;
          to[k * panel.width] = j < panel.columns ? pairOf(offset + c * numbers * w.strides[1]) : 0.0f;
        }
      }
    }
  }
}

// Two bf16 in the place of a float.
float pairOf(std::uint16_t first, std::uint16_t second) {
  const std::uint16_t pair[kVnni2Numbers] = {first, second};
  float bits;
  std::memcpy(&bits, pair, sizeof bits);
  return bits;
}

// See packWeights; rows of pairs of pixels, channel by channel.
void packPixelPairs(const GemmJob& job, const TensorDesc& w, const std::uint16_t* data, float* packed) {
  const GemmRows& rows = job.rows;
  const int spatial = w.dims.rank - 2, last = w.dims.rank - 1;
  for (const GemmPanel& panel : job.panels) {
    for (std::int64_t k = 0; k < rows.depth(); ++k) {
      std::int64_t offset = k / rows.taps() * w.strides[1], at = k % rows.taps();
      const std::int64_t tap = at % rows.kernel[2] * kVnni2Numbers;
      at /= rows.kernel[2];
      for (int axis = spatial - 2; axis >= 0; --axis) {
        offset += at % w.dims[2 + axis] * w.strides[2 + axis];
        at /= w.dims[2 + axis];
      }
      float* const to = packed + panel.weights + k * panel.width;
      std::fill_n(to, panel.width, 0.0f);
      for (std::int64_t j = 0; j < panel.columns; ++j) {
        const std::uint16_t* const from = data + (panel.column + j) * w.strides[0] + offset;
        const std::uint16_t second = tap + 1 < w.dims[last] ? from[(tap + 1) * w.strides[last]] : 0;
        to[j] = pairOf(from[tap * w.strides[last]], second);
      }
    }
  }
}

}  // namespace

void packWeights(const GemmJob& job, const TensorDesc& w, const void* data, float* packed) {
  if (w.dtype == DType::kF32) {
    return packBy(
        job, w, 1, [&](std::int64_t at) { return static_cast<const float*>(data)[at]; }, packed);
  }
  const auto* const halves = static_cast<const std::uint16_t*>(data);
  if (job.rows.pair_step != 0) return packPixelPairs(job, w, halves, packed);
  packBy(
      job, w, kVnni2Numbers, [&](std::int64_t at) { return pairOf(halves[at], halves[at + w.strides[1]]); }, packed);
}

void packBias(const GemmJob& job, const float* data, float* packed) {
  const GemmPanel& last = job.panels.back();
  std::fill(packed, packed + last.bias + last.width, 0.0f);
  for (const GemmPanel& panel : job.panels) {
    for (std::int64_t j = 0; data != nullptr && j < panel.columns; ++j) packed[panel.bias + j] = data[panel.column + j];
  }
}

}  // namespace ipex_studio
