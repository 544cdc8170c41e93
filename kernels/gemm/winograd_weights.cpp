// Weights of a convolution as Winograd's filtering multiplies them: G·w·Gᵀ.
#include <algorithm>
#include <array>

#include "kernels/gemm/winograd.h"

namespace ipex_studio {
namespace {

using Line = std::array<double, 3>;

// Rows of G.
constexpr Line kLines[kWinogradWindow] = {{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}};

double valueAt(const Line& row, const Line& column, const double (&w)[3][3]) {
  double sum = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 3; ++j) sum += row[i] * w[i][j] * column[j];
  }
  return sum;
}

}  // namespace

void packWinogradWeights(const WinogradJob& job, const TensorDesc& w, const float* data, float* packed) {
  std::fill(packed, packed + job.panels() * job.panelFloats(), 0.0f);
  for (std::int64_t o = 0; o < job.columns; ++o) {
    float* const panel = packed + o / job.panel_width * job.panelFloats() + o % job.panel_width;
    for (std::int64_t c = 0; c < job.channels; ++c) {
      double taps[3][3];
      for (std::int64_t i = 0; i < 3; ++i) {
        for (std::int64_t j = 0; j < 3; ++j)
          taps[i][j] = data[o * w.strides[0] + c * w.strides[1] + i * w.strides[2] + j * w.strides[3]];
      }
      for (std::int64_t p = 0; p < kWinogradPoints; ++p) {
        panel[(p * job.channels + c) * job.panel_width] =
            static_cast<float>(valueAt(kLines[p / kWinogradWindow], kLines[p % kWinogradWindow], taps));
      }
    }
  }
}

}  // namespace ipex_studio
