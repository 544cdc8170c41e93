// A convolution with its gradients, prepared for one problem. Each of the three computations is done by the quickest of
//
//   primitives of oneDNN  with weights brought into the library's order at each call
//   products by taps      one matrix product for each place of the window, over the pixels that it meets: for results
//                         of few pixels, where the library multiplies mostly padding or a few rows at a time
//   a depthwise kernel    of ours for gradients of weights where the library has none
//
// All take and give memory with channels last, and weights in the order of the parameter, which no state leaves.
#pragma once

#include <memory>

#include "kernels/training/convolution_problem.h"

namespace ipex_studio {

class ConvolutionTraining {
 public:
  virtual ~ConvolutionTraining() = default;

  // y = x ∗ w + bias. `bias`: one number for each output, or null.
  virtual void forward(const float* x, const float* w, const float* bias, float* y) const = 0;
  virtual void sourceGradient(const float* w, const float* dy, float* dx) const = 0;
  virtual void weightGradient(const float* x, const float* dy, float* dw) const = 0;
};

// The convolution, or null where only slow code would compute it: groups that are not depthwise for some sizes. The
// problem has at least one image, channel and pixel of the result. What it returns may be called by several threads.
std::shared_ptr<const ConvolutionTraining> prepareConvolution(const ConvolutionProblem& problem);

// db[c] = Σ over rows of dy[row, c], in an order that does not depend on the number of threads.
void sumRows(const float* dy, std::int64_t rows, std::int64_t columns, std::int32_t threads, float* db);

}  // namespace ipex_studio
