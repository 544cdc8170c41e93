// The refusal of second derivatives by operators whose gradient has none.
#pragma once

#include "core/torch/torch_compat.h"

namespace ipex_studio {

// To be called in backward: throws c10::Error if the gradient itself is to be differentiated.
inline void refuseSecondDerivative(const char* op) {
  TORCH_CHECK(!at::GradMode::is_enabled(), "the second derivative of ", op, " is not implemented");
}

}  // namespace ipex_studio
