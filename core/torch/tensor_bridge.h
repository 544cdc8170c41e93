// at::Tensor to TensorDesc and back.
#pragma once

#include <torch/script.h>

#include "core/op/tensor_view.h"

namespace ipex_studio {

DType dtypeOf(at::ScalarType type);        // kNone when plans have no such type
at::ScalarType scalarTypeOf(DType dtype);  // CHECKs on kNone

// Sizes and strides as they are. An undefined tensor, or one of a type or rank plans do not know, gives kNone.
TensorDesc descOf(const at::Tensor& tensor);

// The tensor itself when it is dense row-major or channels-last, otherwise a row-major copy.
at::Tensor planInput(const at::Tensor& tensor);

// A fresh row-major CPU tensor; contents undefined.
at::Tensor emptyTensor(const TensorDesc& desc);

}  // namespace ipex_studio
