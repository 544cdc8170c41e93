// Copies of tensors that keep their place in memory as it is. Thread-safe.
#pragma once

#include "core/torch/torch_compat.h"

namespace ipex_studio {

// Copies a tensor with own memory and the same strides, also where these leave gaps, meet elements twice or do not
// begin with the memory.
at::Tensor copyWithStrides(const at::Tensor& tensor, at::ScalarType dtype);

}  // namespace ipex_studio
