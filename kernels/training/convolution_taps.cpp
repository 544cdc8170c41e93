#include "kernels/training/convolution_taps.h"

#include <algorithm>
#include <oneapi/dnnl/dnnl.hpp>

#include "kernels/common/parallel.h"
#include "kernels/training/working_memory.h"

namespace ipex_studio {
namespace {

using RowList = std::vector<std::int32_t>;

void product(char transpose_a, char transpose_b, std::int64_t m, std::int64_t n, std::int64_t k, const float* a,
             std::int64_t lda, const float* b, std::int64_t ldb, float beta, float* c, std::int64_t ldc) {
  dnnl::error::wrap_c_api(
      static_cast<dnnl_status_t>(dnnl::sgemm(transpose_a, transpose_b, m, n, k, 1.0f, a, lda, b, ldb, beta, c, ldc)),
      "oneDNN could not multiply two matrices");
}

void gatherRows(const float* from, const RowList& rows, std::int64_t width, float* to) {
  for (const std::int32_t row : rows) to = std::copy_n(from + row * width, width, to);
}

void addToRows(const float* from, const RowList& rows, std::int64_t width, float* to) {
  for (const std::int32_t row : rows) {
    float* const target = to + row * width;
    for (std::int64_t i = 0; i < width; ++i) target[i] += from[i];
    from += width;
  }
}

}  // namespace

ConvolutionTaps::ConvolutionTaps(const ConvolutionProblem& p) : problem_(p) {
  const auto place = [&p](std::size_t axis, std::int64_t out, std::int64_t tap) {
    return out * p.stride[axis] - p.padding[axis] + tap * p.dilation[axis];
  };
  const std::int64_t pixels = p.images * p.size[0] * p.size[1];
  for (std::int64_t number = 0; number < p.taps(); ++number) {
    Tap tap;
    tap.number = number;
    for (std::int64_t row = 0; row < p.rows(); ++row) {
      const std::int64_t image = row / (p.out(0) * p.out(1)), pixel = row % (p.out(0) * p.out(1));
      const std::int64_t y = place(0, pixel / p.out(1), number / p.kernel[1]);
      const std::int64_t x = place(1, pixel % p.out(1), number % p.kernel[1]);
      if (y < 0 || y >= p.size[0] || x < 0 || x >= p.size[1]) continue;
      tap.from.push_back(static_cast<std::int32_t>((image * p.size[0] + y) * p.size[1] + x));
      tap.to.push_back(static_cast<std::int32_t>(row));
    }
    // Pixels are read at most once and in order, so as many as there are is all of them.
    tap.rows = static_cast<std::int64_t>(tap.from.size());
    if (tap.rows == pixels && pixels == p.rows()) tap.from = tap.to = {};
    if (tap.rows > 0) taps_.push_back(std::move(tap));
  }
}

float* ConvolutionTaps::floats(std::int64_t rows) const {
  const auto width = static_cast<std::size_t>(problem_.channels + problem_.outputs);
  return reinterpret_cast<float*>(workingMemory(static_cast<std::size_t>(rows) * width * sizeof(float)));
}

void ConvolutionTaps::forward(const float* x, const float* w, const float* bias, float* y) const {
  const ThreadCountScope scope(problem_.threads);
  const std::int64_t c = problem_.channels, o = problem_.outputs;
  const bool written = taps_.size() == 1 && taps_[0].isWhole() && bias == nullptr;
  for (std::int64_t row = 0; row < (written ? 0 : problem_.rows()); ++row) {
    bias != nullptr ? std::copy_n(bias, o, y + row * o) : std::fill_n(y + row * o, o, 0.0f);
  }
  for (const Tap& tap : taps_) {
    const std::int64_t rows = tap.rows;
    const float* const weights = w + tap.number * c;
    if (tap.isWhole()) {
      product('N', 'T', rows, o, c, x, c, weights, weightRow(), written ? 0.0f : 1.0f, y, o);
      continue;
    }
    float* const gathered = floats(rows);
    float* const result = gathered + rows * c;
    gatherRows(x, tap.from, c, gathered);
    product('N', 'T', rows, o, c, gathered, c, weights, weightRow(), 0, result, o);
    addToRows(result, tap.to, o, y);
  }
}

void ConvolutionTaps::sourceGradient(const float* w, const float* dy, float* dx) const {
  const ThreadCountScope scope(problem_.threads);
  const std::int64_t c = problem_.channels, o = problem_.outputs;
  const bool written = taps_.size() == 1 && taps_[0].isWhole();
  if (!written) std::fill_n(dx, problem_.images * problem_.size[0] * problem_.size[1] * c, 0.0f);
  for (const Tap& tap : taps_) {
    const std::int64_t rows = tap.rows;
    const float* const weights = w + tap.number * c;
    if (tap.isWhole()) {
      product('N', 'N', rows, c, o, dy, o, weights, weightRow(), written ? 0.0f : 1.0f, dx, c);
      continue;
    }
    float* const result = floats(rows);
    float* const gathered = result + rows * c;
    gatherRows(dy, tap.to, o, gathered);
    product('N', 'N', rows, c, o, gathered, o, weights, weightRow(), 0, result, c);
    addToRows(result, tap.from, c, dx);
  }
}

void ConvolutionTaps::weightGradient(const float* x, const float* dy, float* dw) const {
  const ThreadCountScope scope(problem_.threads);
  const std::int64_t c = problem_.channels, o = problem_.outputs;
  if (static_cast<std::int64_t>(taps_.size()) < problem_.taps()) std::fill_n(dw, problem_.weightCount(), 0.0f);
  for (const Tap& tap : taps_) {
    const std::int64_t rows = tap.rows;
    const float *left = dy, *right = x;
    if (!tap.isWhole()) {
      float* const gathered = floats(rows);
      gatherRows(x, tap.from, c, gathered);
      gatherRows(dy, tap.to, o, gathered + rows * c);
      right = gathered;
      left = gathered + rows * c;
    }
    product('T', 'N', o, c, rows, left, o, right, c, 0, dw + tap.number * c, weightRow());
  }
}

}  // namespace ipex_studio
