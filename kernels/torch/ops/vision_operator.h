// What operators of detection share.
#pragma once

#include <string>

#include "core/torch/torch_compat.h"

namespace ipex_studio {

// Tier of instruction sets of this machine.
const std::string& isaHere();

// The dtype that an operator of detection computes in: FP32 for itself and for floats below it, FP64 for FP64. Throws
// c10::Error for others; `name`: of the operator.
at::ScalarType visionDtype(const char* name, const at::Tensor& values);

// The numbers of a quantized tensor of one scale, exact, in steps of that scale from the zero point: FP32, or FP64 for
// int32. Throws c10::Error for a tensor of several scales.
at::Tensor quantizedSteps(const char* name, const at::Tensor& quantized);

// The tensor in FP32, as autocast keeps it.
at::Tensor autocastToFp32(const at::Tensor& values);

// An operator by its name, "ipex_studio::nms", to be called with the dispatch keys of this thread.
template <typename Signature>
c10::TypedOperatorHandle<Signature> operatorNamed(const char* name) {
  return c10::Dispatcher::singleton().findSchemaOrThrow(name, "").typed<Signature>();
}

}  // namespace ipex_studio
