// Products of linear layers with their gradients that are prepared once for all who ask for the same sizes.
#pragma once

#include <memory>

#include "kernels/training/linear_training.h"

namespace ipex_studio {

// The operation prepared for a problem; null where libtorch's products are better, or oneDNN has none. Thread-safe.
std::shared_ptr<const LinearTraining> keptLinear(const LinearProblem& problem);

}  // namespace ipex_studio
