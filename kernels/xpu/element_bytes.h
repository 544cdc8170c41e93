// How programs read the operands of products (kernels/xpu/programs/elements.cl).
#pragma once

#include <cstdint>
#include <string>

#include "core/op/kernel.h"
#include "core/op/low_precision_floats.h"

namespace ipex_studio {

// Bytes are read as (byte ^ flip) - zero: signed ones are flipped to unsigned ones that lie 128 higher.
struct ElementBytes {
  std::int32_t flip = 0, zero = 0;
};

inline bool isByte(DType dtype) { return dtype == DType::kU8 || dtype == DType::kS8; }

inline ElementBytes elementBytesOf(DType dtype, std::int64_t zero) {
  if (!isByte(dtype)) return {};
  const std::int32_t flip = dtype == DType::kS8 ? 128 : 0;
  return {flip, static_cast<std::int32_t>(zero) + flip};
}

// True if one program multiplies the two: floats of one type, or bytes.
inline bool areMultiplied(DType a, DType b) { return isByte(a) ? isByte(b) : a == b && isFloatDtype(a); }

// The program of this name for operands of the type.
inline std::string programFor(const char* name, DType dtype) {
  const char* const suffix = dtype == DType::kF32    ? ""
                             : dtype == DType::kBf16 ? "_bf16"
                             : dtype == DType::kF16  ? "_f16"
                                                     : "_bytes";
  return name + std::string(suffix);
}

}  // namespace ipex_studio
