// The layout of a concatenation.
#pragma once

#include <vector>

#include "core/op/tensor_view.h"

namespace ipex_studio {

// The dense layout that most bytes of the sources already have; of equal ones the first; row-major where none has one.
TensorDesc concatLayout(const std::vector<TensorDesc>& src, int axis);

}  // namespace ipex_studio
