// A convolution with its gradients, prepared for one problem. Each of the three computations is done by the quickest of
//
//   primitives of oneDNN  with weights brought into the library's order at each call
//   products by taps      one matrix product for each place of the window, over the pixels that it meets: for results
//                         of few pixels, where the library multiplies mostly padding or a few rows at a time
//   a depthwise kernel    of ours for gradients of weights where the library has none
//
// All take and give memory with channels last, and weights in the order of the parameter, which no state leaves. Where
// images are BF16, weights are rounded to it on their way into the library's order, and their gradients are FP32 sums
// that nothing rounds.
#pragma once

#include <memory>

#include "kernels/common/bf16.h"
#include "kernels/training/convolution_problem.h"

namespace ipex_studio {

class ConvolutionTraining {
 public:
  virtual ~ConvolutionTraining() = default;

  // y = x ∗ w + bias. `bias`: one number for each output, or null. Images are of the problem's type.
  virtual void forward(const void* x, const float* w, const float* bias, void* y) const = 0;
  virtual void sourceGradient(const float* w, const void* dy, void* dx) const = 0;
  virtual void weightGradient(const void* x, const void* dy, float* dw) const = 0;
};

// The convolution, or null where only slow code would compute it: groups that are not depthwise for some sizes. The
// problem has at least one image, channel and pixel of the result. What it returns may be called by several threads.
std::shared_ptr<const ConvolutionTraining> prepareConvolution(const ConvolutionProblem& problem);

// db[c] = Σ over rows of dy[row, c], in an order that does not depend on the number of threads.
void sumRows(const float* dy, std::int64_t rows, std::int64_t columns, std::int32_t threads, float* db);
void sumRows(const Bf16* dy, std::int64_t rows, std::int64_t columns, std::int32_t threads, float* db);

}  // namespace ipex_studio
