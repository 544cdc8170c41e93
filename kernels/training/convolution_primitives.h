// A convolution in training by primitives of oneDNN, for images with channels last.
#pragma once

#include <memory>

#include "kernels/training/convolution_problem.h"

namespace ipex_studio {

class ConvolutionPrimitives {
 public:
  enum Pass { kForward, kSource, kWeights, kPasses };

  explicit ConvolutionPrimitives(const ConvolutionProblem& problem);
  ~ConvolutionPrimitives();

  // The library's name of what computes a pass, "jit:avx2"; empty if there is only slow code or none.
  const char* implementation(Pass pass) const;
  // As in ConvolutionTraining; only for passes that have an implementation.
  void forward(const void* x, const float* w, const float* bias, void* y) const;
  void sourceGradient(const float* w, const void* dy, void* dx) const;
  void weightGradient(const void* x, const void* dy, float* dw) const;

 private:
  struct Parts;
  std::unique_ptr<const Parts> parts_;
};

}  // namespace ipex_studio
