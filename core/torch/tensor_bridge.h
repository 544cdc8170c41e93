// Conversion of at::Tensor to TensorDesc and back.
#pragma once

#include <torch/script.h>

#include "core/op/tensor_view.h"

namespace ipex_studio {

DType dtypeOf(at::ScalarType type);        // kNone if plans have no such type
at::ScalarType scalarTypeOf(DType dtype);  // CHECKs on kNone

// Takes sizes and strides as they are. An undefined tensor, or one of a type or rank that plans do not know, gives
// kNone.
TensorDesc descOf(const at::Tensor& tensor);

// Returns the tensor itself if it is dense row-major or channels-last, otherwise a row-major copy.
at::Tensor planInput(const at::Tensor& tensor);

// Makes a row-major CPU tensor; contents undefined.
at::Tensor emptyTensor(const TensorDesc& desc);

}  // namespace ipex_studio
