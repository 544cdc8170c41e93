#include "kernels/training/convolution_training.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "kernels/common/parallel.h"
#include "kernels/training/convolution_primitives.h"
#include "kernels/training/convolution_taps.h"
#include "kernels/training/depthwise_weights.h"

namespace ipex_studio {
namespace {

using Pass = ConvolutionPrimitives::Pass;

// Pixels of a result from which the library's kernels have rows enough, and those from which its products of each
// image have.
constexpr std::int64_t kFewPixels = 4, kSomePixels = 64;

// oneDNN 2.6 gathers pixels first where a window of one place has strides. For 2 and 4 channels it then writes beyond
// its memory, and gradients of weights are wrong; no number of channels that does not fill vectors is trusted.
constexpr std::int64_t kWidestVector = 16;

class PreparedConvolution final : public ConvolutionTraining {
 public:
  explicit PreparedConvolution(const ConvolutionProblem& problem) : problem_(problem), primitives_(problem) {
    for (const Pass pass : {Pass::kForward, Pass::kSource, Pass::kWeights}) by_taps_[pass] = isForTaps(pass);
    if (by_taps_[0] || by_taps_[1] || by_taps_[2]) taps_ = std::make_unique<ConvolutionTaps>(problem);
    own_weights_ = problem.isDepthwise() && isSlow(Pass::kWeights) && problem.kernel[1] <= kDepthwiseTapsInLine;
  }

  bool isQuick() const {
    const auto quick = [this](Pass pass) { return by_taps_[pass] || !isSlow(pass); };
    return quick(Pass::kForward) && quick(Pass::kSource) && (own_weights_ || quick(Pass::kWeights));
  }

  void forward(const float* x, const float* w, const float* bias, float* y) const override {
    by_taps_[Pass::kForward] ? taps_->forward(x, w, bias, y) : primitives_.forward(x, w, bias, y);
  }

  void sourceGradient(const float* w, const float* dy, float* dx) const override {
    by_taps_[Pass::kSource] ? taps_->sourceGradient(w, dy, dx) : primitives_.sourceGradient(w, dy, dx);
  }

  void weightGradient(const float* x, const float* dy, float* dw) const override {
    if (own_weights_) {
      depthwiseWeightGradient(problem_, x, dy, dw);
    } else {
      by_taps_[Pass::kWeights] ? taps_->weightGradient(x, dy, dw) : primitives_.weightGradient(x, dy, dw);
    }
  }

 private:
  bool says(Pass pass, const char* word) const {
    return std::strstr(primitives_.implementation(pass), word) != nullptr;
  }

  // True if the library has no generated code for groups, or none at all.
  bool isSlow(Pass pass) const {
    const bool generated = problem_.isDepthwise() ? says(pass, "dw") : !says(pass, "gemm");
    return primitives_.implementation(pass)[0] == '\0' || (problem_.groups > 1 && !generated);
  }

  bool isForTaps(Pass pass) const {
    if (problem_.groups > 1) return false;
    if (primitives_.implementation(pass)[0] == '\0') return true;
    const std::int64_t pixels = problem_.out(0) * problem_.out(1);
    const bool strided = problem_.taps() == 1 && problem_.stride != ConvolutionProblem::Pair{1, 1};
    const bool dense = says(pass, "1x1") && problem_.channels % kWidestVector == 0;
    return pixels <= kFewPixels || (says(pass, "gemm") && pixels <= kSomePixels) || (strided && !dense);
  }

  const ConvolutionProblem problem_;
  const ConvolutionPrimitives primitives_;
  bool by_taps_[ConvolutionPrimitives::kPasses] = {}, own_weights_ = false;
  std::unique_ptr<const ConvolutionTaps> taps_;
};

}  // namespace

std::shared_ptr<const ConvolutionTraining> prepareConvolution(const ConvolutionProblem& problem) {
  auto convolution = std::make_shared<const PreparedConvolution>(problem);
  return convolution->isQuick() ? convolution : nullptr;
}

void sumRows(const float* dy, std::int64_t rows, std::int64_t columns, std::int32_t threads, float* db) {
  constexpr std::int64_t kRows = 64;  // that are added in single precision
  parallelFor(columns, grainFor(rows), threads, [&](std::int64_t begin, std::int64_t end, int) {
    std::vector<double> sums(static_cast<std::size_t>(end - begin));
    std::vector<float> part(sums.size());
    for (std::int64_t first = 0; first < rows; first += kRows) {
      std::fill(part.begin(), part.end(), 0.0f);
      for (std::int64_t row = first; row < std::min(rows, first + kRows); ++row) {
        const float* const line = dy + row * columns + begin;
        for (std::size_t c = 0; c < part.size(); ++c) part[c] += line[c];
      }
      for (std::size_t c = 0; c < part.size(); ++c) sums[c] += part[c];
    }
    std::copy(sums.begin(), sums.end(), db + begin);
  });
}

}  // namespace ipex_studio
