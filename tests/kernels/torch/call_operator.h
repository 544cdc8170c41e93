// Calls of operators by their names.
#pragma once

#include <torch/script.h>

#include <utility>

namespace ipex_studio {

// Calls an operator whose first result is a tensor, which is returned.
inline at::Tensor call(const char* name, torch::jit::Stack stack) {
  c10::Dispatcher::singleton().findSchemaOrThrow(name, "").callBoxed(&stack);
  return std::move(stack.at(0)).toTensor();
}

}  // namespace ipex_studio
