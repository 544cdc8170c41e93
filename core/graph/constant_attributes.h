// ConstantAttributes: tensors of a module that a graph reads and nothing but the graph can write to.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/torch/torch_compat.h"

namespace ipex_studio {

// Freezing keeps an attribute that any branch of the code may write to; once branches are taken, those that no node
// writes to are constants. Not thread-safe.
class ConstantAttributes {
 public:
  // No attribute is constant.
  ConstantAttributes() = default;
  // Attributes of `module` but those named or below a name of `preserved` ("cache", "encoder.cache"), which others may
  // write to. None at all if the module or one inside of it has other methods than forward.
  ConstantAttributes(const torch::jit::Module& module, std::vector<std::string> preserved);

  // The tensor that the node reads, without gradients; nullopt: it reads something else or from another place.
  std::optional<at::Tensor> read(const torch::jit::Node* node) const;

 private:
  std::optional<torch::jit::Module> module_;
  std::vector<std::string> preserved_;
};

}  // namespace ipex_studio
