// Values that own their memory, and the names it has.
#pragma once

#include "core/torch/torch_compat.h"

namespace ipex_studio {

// True if the value owns memory that no other value names when it is made. Decided by schema, except for operators
// known to return their input all the same.
bool isFresh(const torch::jit::Value* value);
// Operators whose schema promises a fresh result but which may return their input or a view of it.
bool mayReturnInput(const torch::jit::Node* node);

// True if nothing ever writes to the memory of `value`: it is fresh, or a view of what is, and all other names of the
// memory are known and only read: views, elements of lists and tuples that do not leave the graph, results of branches
// and loops. libtorch's analysis takes an element that is read out of a list for a name of anything.
bool isOnlyRead(const torch::jit::Value* value);

}  // namespace ipex_studio
