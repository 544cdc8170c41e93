// Weights of a convolution as Winograd's filtering multiplies them: G·w·Gᵀ.
#include <algorithm>
#include <array>

#include "kernels/common/bf16.h"
#include "kernels/gemm/winograd.h"

namespace ipex_studio {
namespace {

using Line = std::array<double, 3>;

// Rows of G: the weights' polynomial at each point, divided by the product of its distances from the others.
constexpr Line kTwo[] = {{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}};

constexpr Line lineOf(double point, double other) {
  const double product = 2 * point * point * (point * point - other * other);
  return {1 / product, point / product, point * point / product};
}
constexpr Line kFour[] = {{1, 0, 0},
                          lineOf(kWinogradNear, kWinogradFar),
                          lineOf(-kWinogradNear, kWinogradFar),
                          lineOf(kWinogradFar, kWinogradNear),
                          lineOf(-kWinogradFar, kWinogradNear),
                          {0, 0, 1}};

double valueAt(const Line& row, const Line& column, const double (&w)[3][3]) {
  double sum = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 3; ++j) sum += row[i] * w[i][j] * column[j];
  }
  return sum;
}

}  // namespace

void packWinogradWeights(const WinogradJob& job, const TensorDesc& w, const void* data, float* packed) {
  const Line* const lines = job.tile == 2 ? kTwo : kFour;
  std::fill(packed, packed + job.panels() * job.panelFloats(), 0.0f);
  for (std::int64_t o = 0; o < job.columns; ++o) {
    float* const panel = packed + o / job.panel_width * job.panelFloats() + o % job.panel_width;
    for (std::int64_t c = 0; c < job.channels; ++c) {
      double taps[3][3];
      for (std::int64_t i = 0; i < 3; ++i) {
        for (std::int64_t j = 0; j < 3; ++j)
          taps[i][j] =
              floatAt(w.dtype, data, o * w.strides[0] + c * w.strides[1] + i * w.strides[2] + j * w.strides[3]);
      }
      for (std::int64_t p = 0; p < job.points(); ++p) {
        panel[(p * job.channels + c) * job.panel_width] =
            static_cast<float>(valueAt(lines[p / job.window()], lines[p % job.window()], taps));
      }
    }
  }
}

}  // namespace ipex_studio
