// The state of optional arguments in the example run. Private to passes/simplify.
#pragma once

#include "core/torch/torch_compat.h"

namespace ipex_studio {

// The type of the optional value as a tensor, as the example run saw it in a cast; null: it left the value out.
c10::TypePtr givenType(const torch::jit::Value* optional);

}  // namespace ipex_studio
