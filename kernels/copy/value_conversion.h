// Values of f32, bf16, f16, u8 and s8 to and from f32 by the best code that `isa` allows (upconverted_simd.cpp).
#pragma once

#include <cstdint>
#include <string>

#include "core/op/tensor_view.h"

namespace ipex_studio {

// Conversion of elements [begin, end) of tensors whose data begin at `from` and `to`. Downconversion rounds to nearest
// even; bytes saturate.
struct ValueConversion {
  void (*upconvert)(DType dtype, const void* from, float* to, std::int64_t begin, std::int64_t end) = nullptr;
  void (*downconvert)(DType dtype, const float* from, void* to, std::int64_t begin, std::int64_t end) = nullptr;
};
ValueConversion valueConversion(const std::string& isa);

}  // namespace ipex_studio
