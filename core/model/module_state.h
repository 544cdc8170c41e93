// Own copies of modules, and what a module remembers from one call to the next. Not thread-safe on one module.
#pragma once

#include <optional>
#include <vector>

#include "core/torch/torch_compat.h"

namespace ipex_studio {

// Copies a module with own memory for all tensors. Types and methods are shared, as are objects of C++ classes (packed
// weights, regions), which no run changes. Tensors that share memory, views of one tensor for example, share it in the
// copy; Module::deepcopy would give the first of them in the place of all. `floats`: the type that floating-point
// tensors get.
torch::jit::Module copyModule(const torch::jit::Module& module, std::optional<at::ScalarType> floats = std::nullopt);

// The state of a module: the values of its attributes and those of its submodules, taken when this is made and put back
// on demand. In a frozen module only what its methods write to is an attribute, and the objects of regions, which are
// no state.
class ModuleState {
 public:
  explicit ModuleState(const torch::jit::Module& module);
  // True if the module has no attributes that it could write to.
  bool empty() const { return values_.empty(); }
  // Gives the module's attributes the values they had; shared memory is shared again. Values that somebody else holds,
  // results of runs for example, stay as they are.
  void restore() const;

 private:
  struct Slot {
    c10::intrusive_ptr<c10::ivalue::Object> owner;
    std::size_t index = 0;
  };
  std::vector<Slot> slots_;
  std::vector<torch::jit::IValue> values_;  // own copies, one per slot
};

}  // namespace ipex_studio
