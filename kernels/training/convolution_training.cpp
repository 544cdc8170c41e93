#include "kernels/training/convolution_training.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "core/runtime/device.h"
#include "kernels/common/parallel.h"
#include "kernels/training/bf16_values.h"
#include "kernels/training/convolution_primitives.h"
#include "kernels/training/convolution_taps.h"
#include "kernels/training/depthwise_weights.h"

namespace ipex_studio {
namespace {

using Pass = ConvolutionPrimitives::Pass;

constexpr Pass kAllPasses[] = {Pass::kForward, Pass::kSource, Pass::kWeights};

// Pixels of a result from which the library's kernels have rows enough, and those from which its products of each
// image have.
constexpr std::int64_t kFewPixels = 4, kSomePixels = 64;

// oneDNN 2.6 gathers pixels first where a window of one place has strides. For 2 and 4 channels it then writes beyond
// its memory, and gradients of weights are wrong; no number of channels that does not fill vectors is trusted.
constexpr std::int64_t kWidestVector = 16;

// What a library's primitives are good for.
class PassChoice {
 public:
  PassChoice(const ConvolutionProblem& problem, const ConvolutionPrimitives& primitives)
      : problem_(problem), primitives_(primitives) {}

  // True if the library has no generated code for groups, or none at all. Volumes have no other code, so that any of
  // the library's is taken.
  bool isSlow(Pass pass) const {
    if (problem_.volume) return isMissing(pass);
    const bool generated = problem_.isDepthwise() ? says(pass, "dw") : !says(pass, "gemm");
    return isMissing(pass) || (problem_.groups > 1 && !generated);
  }

  bool isForTaps(Pass pass) const {
    if (problem_.groups > 1 || problem_.volume) return false;
    if (isMissing(pass)) return true;
    const std::int64_t pixels = problem_.out(0) * problem_.out(1);
    const bool strided = problem_.taps() == 1 && problem_.stride != ConvolutionProblem::Pair{1, 1};
    const bool dense = says(pass, "1x1") && problem_.channels % kWidestVector == 0;
    return pixels <= kFewPixels || (says(pass, "gemm") && pixels <= kSomePixels) || (strided && !dense);
  }

  bool isForOwnWeights() const {
    return problem_.isDepthwise() && !problem_.volume && isSlow(Pass::kWeights) &&
           problem_.kernel[1] <= kDepthwiseTapsInLine;
  }

 private:
  bool isMissing(Pass pass) const { return primitives_.implementation(pass)[0] == '\0'; }
  bool says(Pass pass, const char* word) const {
    return std::strstr(primitives_.implementation(pass), word) != nullptr;
  }

  const ConvolutionProblem& problem_;
  const ConvolutionPrimitives& primitives_;
};

class Fp32Convolution final : public ConvolutionTraining {
 public:
  explicit Fp32Convolution(const ConvolutionProblem& problem) : problem_(problem), primitives_(problem) {
    const PassChoice choice(problem_, primitives_);
    for (const Pass pass : kAllPasses) by_taps_[pass] = choice.isForTaps(pass);
    if (by_taps_[0] || by_taps_[1] || by_taps_[2]) taps_ = std::make_unique<ConvolutionTaps>(problem);
    own_weights_ = choice.isForOwnWeights();
  }

  bool isQuick() const {
    const PassChoice choice(problem_, primitives_);
    return std::all_of(std::begin(kAllPasses), std::end(kAllPasses), [&](Pass pass) {
      return by_taps_[pass] || !choice.isSlow(pass) || (pass == Pass::kWeights && own_weights_);
    });
  }

  void forward(const void* x, const float* w, const float* bias, void* y) const override {
    by_taps_[Pass::kForward] ? taps_->forward(floats(x), w, bias, static_cast<float*>(y))
                             : primitives_.forward(x, w, bias, y);
  }

  void sourceGradient(const float* w, const void* dy, void* dx) const override {
    by_taps_[Pass::kSource] ? taps_->sourceGradient(w, floats(dy), static_cast<float*>(dx))
                            : primitives_.sourceGradient(w, dy, dx);
  }

  void weightGradient(const void* x, const void* dy, float* dw) const override {
    if (own_weights_) {
      depthwiseWeightGradient(problem_, floats(x), floats(dy), dw);
    } else {
      by_taps_[Pass::kWeights] ? taps_->weightGradient(floats(x), floats(dy), dw)
                               : primitives_.weightGradient(x, dy, dw);
    }
  }

 private:
  static const float* floats(const void* values) { return static_cast<const float*>(values); }

  const ConvolutionProblem problem_;
  const ConvolutionPrimitives primitives_;
  bool by_taps_[ConvolutionPrimitives::kPasses] = {}, own_weights_ = false;
  std::unique_ptr<const ConvolutionTaps> taps_;
};

// Passes that the library has no good code for in BF16 are computed in FP32, from and to BF16.
class Bf16Convolution final : public ConvolutionTraining {
 public:
  explicit Bf16Convolution(const ConvolutionProblem& problem) : problem_(problem), primitives_(problem) {
    const PassChoice choice(problem_, primitives_);
    own_weights_ = choice.isForOwnWeights();
    bool any = false;
    for (const Pass pass : kAllPasses) {
      wide_[pass] = (choice.isSlow(pass) || choice.isForTaps(pass)) && !(pass == Pass::kWeights && own_weights_);
      any |= wide_[pass];
    }
    if (!any) return;
    ConvolutionProblem single = problem;
    single.bf16 = false;
    fp32_ = std::make_unique<const Fp32Convolution>(single);
  }

  bool isQuick() const { return fp32_ == nullptr || fp32_->isQuick(); }

  void forward(const void* x, const float* w, const float* bias, void* y) const override {
    if (!wide_[Pass::kForward]) return primitives_.forward(x, w, bias, y);
    Floats result(resultCount());
    fp32_->forward(up(x, imageCount()).values(), w, bias, result.values());
    downconvert(result.values(), resultCount(), problem_.threads, static_cast<Bf16*>(y));
  }

  void sourceGradient(const float* w, const void* dy, void* dx) const override {
    if (!wide_[Pass::kSource]) return primitives_.sourceGradient(w, dy, dx);
    Floats result(imageCount());
    fp32_->sourceGradient(w, up(dy, resultCount()).values(), result.values());
    downconvert(result.values(), imageCount(), problem_.threads, static_cast<Bf16*>(dx));
  }

  void weightGradient(const void* x, const void* dy, float* dw) const override {
    if (own_weights_) {
      depthwiseWeightGradient(problem_, static_cast<const Bf16*>(x), static_cast<const Bf16*>(dy), dw);
    } else if (wide_[Pass::kWeights]) {
      fp32_->weightGradient(up(x, imageCount()).values(), up(dy, resultCount()).values(), dw);
    } else {
      primitives_.weightGradient(x, dy, dw);
    }
  }

 private:
  class Floats {
   public:
    explicit Floats(std::int64_t count) : memory_(static_cast<std::size_t>(count) * sizeof(float)) {}
    float* values() { return static_cast<float*>(memory_.data()); }

   private:
    Buffer memory_;
  };

  std::int64_t imageCount() const { return problem_.images * problem_.pixels() * problem_.channels; }
  std::int64_t resultCount() const { return problem_.rows() * problem_.outputs; }

  Floats up(const void* values, std::int64_t count) const {
    Floats result(count);
    upconvert(static_cast<const Bf16*>(values), count, problem_.threads, result.values());
    return result;
  }

  const ConvolutionProblem problem_;
  const ConvolutionPrimitives primitives_;
  bool wide_[ConvolutionPrimitives::kPasses] = {}, own_weights_ = false;
  std::unique_ptr<const Fp32Convolution> fp32_;  // null if all passes are computed in BF16
};

template <typename Convolution>
std::shared_ptr<const ConvolutionTraining> quickOrNull(const ConvolutionProblem& problem) {
  auto convolution = std::make_shared<const Convolution>(problem);
  return convolution->isQuick() ? convolution : nullptr;
}

float valueOf(float value) { return value; }
float valueOf(Bf16 value) { return bf16ToFloat(value.bits); }

template <typename T>
void sumRowsOf(const T* dy, std::int64_t rows, std::int64_t columns, std::int32_t threads, float* db) {
  constexpr std::int64_t kRows = 64;  // that are added in single precision
  parallelFor(columns, grainFor(rows), threads, [&](std::int64_t begin, std::int64_t end, int) {
    std::vector<double> sums(static_cast<std::size_t>(end - begin));
    std::vector<float> part(sums.size());
    for (std::int64_t first = 0; first < rows; first += kRows) {
      std::fill(part.begin(), part.end(), 0.0f);
      for (std::int64_t row = first; row < std::min(rows, first + kRows); ++row) {
        const T* const line = dy + row * columns + begin;
        for (std::size_t c = 0; c < part.size(); ++c) part[c] += valueOf(line[c]);
      }
      for (std::size_t c = 0; c < part.size(); ++c) sums[c] += part[c];
    }
    std::copy(sums.begin(), sums.end(), db + begin);
  });
}

}  // namespace

std::shared_ptr<const ConvolutionTraining> prepareConvolution(const ConvolutionProblem& problem) {
  return problem.bf16 ? quickOrNull<Bf16Convolution>(problem) : quickOrNull<Fp32Convolution>(problem);
}

void sumRows(const float* dy, std::int64_t rows, std::int64_t columns, std::int32_t threads, float* db) {
  sumRowsOf(dy, rows, columns, threads, db);
}

void sumRows(const Bf16* dy, std::int64_t rows, std::int64_t columns, std::int32_t threads, float* db) {
  sumRowsOf(dy, rows, columns, threads, db);
}

}  // namespace ipex_studio
