// A convolution of one group in training as products of matrices, one for each tap, a place of the window: the pixels
// that a tap meets side by side times the tap's weights. Nothing is multiplied by padding, and weights stay in the
// order of the parameter.
#pragma once

#include <vector>

#include "kernels/training/convolution_problem.h"

namespace ipex_studio {

class ConvolutionTaps {
 public:
  explicit ConvolutionTaps(const ConvolutionProblem& problem);

  // As in ConvolutionTraining.
  void forward(const float* x, const float* w, const float* bias, float* y) const;
  void sourceGradient(const float* w, const float* dy, float* dx) const;
  void weightGradient(const float* x, const float* dy, float* dw) const;

 private:
  // The pixels of the image that a tap reads, and the rows of the result that they belong to. Without lists they are
  // all that there are, in order.
  struct Tap {
    std::int64_t number = 0, rows = 0;
    std::vector<std::int32_t> from, to;

    bool isWhole() const { return from.empty(); }
  };

  std::int64_t weightRow() const { return problem_.taps() * problem_.channels; }
  float* floats(std::int64_t rows) const;

  const ConvolutionProblem problem_;
  std::vector<Tap> taps_;  // those that meet any pixel
};

}  // namespace ipex_studio
