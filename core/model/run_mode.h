// The mode that a model runs in here.
#pragma once

#include <optional>

#include "core/graph/differentiated.h"
#include "core/torch/torch_compat.h"

namespace ipex_studio {

// Switches gradients off for its scope, but for a module whose forward asks for some, and on for that.
class RunMode {
 public:
  explicit RunMode(const torch::jit::Module& module)
      : gradients_(asksForGradients(*module.get_method("forward").graph())) {}

 private:
  c10::AutoGradMode gradients_;
};

}  // namespace ipex_studio
