// The steps of optimizers in double precision, by plain loops: what updateParameters() is tested against.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "kernels/optim/update.h"

namespace ipex_studio {

// OptimizerTensor in double precision. States have the sizes of the parameter, or one number.
struct ReferenceTensor {
  std::vector<double> parameter, gradient;
  std::array<std::vector<double>, kMaxStates> states;
  std::int32_t group = 0;
  std::int64_t step = 1;
};

// The plain version of updateParameters(), by the formulas of the papers and of torch.optim. Settings are those that
// single precision holds: callers that compare round lr, beta1 and so on first where that matters.
double updateParametersRef(Optimizer optimizer, const std::vector<std::vector<double>>& settings,
                           std::vector<ReferenceTensor>* tensors, const UpdateOptions& options);

}  // namespace ipex_studio
