// Values that own their memory.
#pragma once

#include "core/torch/torch_compat.h"

namespace ipex_studio {

// True if the value owns memory that no other value names when it is made. Decided by schema, except for operators
// known to return their input all the same.
bool isFresh(const torch::jit::Value* value);
// Operators whose schema promises a fresh result but which may return their input or a view of it.
bool mayReturnInput(const torch::jit::Node* node);

// True if no other value ever names the memory of `value`, so that nothing can write to it: it is fresh, and only
// operators that neither write to it nor return it read it. Lists for operators of ours are read through: libtorch's
// analysis takes for a name of anything what stands in a list that it does not know.
bool hasOneName(const torch::jit::Value* value);

}  // namespace ipex_studio
