// A convolution with its gradients in double precision, by plain loops: what ConvolutionTraining is tested against.
#pragma once

#include <vector>

#include "kernels/training/convolution_problem.h"

namespace ipex_studio {

// Operands in the order of ConvolutionTraining.
struct ConvolutionRef {
  std::vector<double> y, dx, dw, db;
};

// `bias`: empty, or one number for each output.
ConvolutionRef convolutionTrainingRef(const ConvolutionProblem& problem, const std::vector<float>& x,
                                      const std::vector<float>& w, const std::vector<float>& bias,
                                      const std::vector<float>& dy);

}  // namespace ipex_studio
