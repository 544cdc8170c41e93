// The gradient of the weights of a depthwise convolution.
#pragma once

#include <string>

#include "kernels/common/bf16.h"
#include "kernels/training/convolution_problem.h"

namespace ipex_studio {

// Kernels of more places in a line than this are none of its.
constexpr std::int64_t kDepthwiseTapsInLine = 7;

// dw[c, tap] = Σ over rows of x · dy. Operands as in ConvolutionTraining. The order of sums does not depend on the
// number of threads. `isa`: a machine_facts tier that instructions stay within; empty: what this machine has.
void depthwiseWeightGradient(const ConvolutionProblem& problem, const float* x, const float* dy, float* dw,
                             const std::string& isa = {});
void depthwiseWeightGradient(const ConvolutionProblem& problem, const Bf16* x, const Bf16* dy, float* dw,
                             const std::string& isa = {});

}  // namespace ipex_studio
