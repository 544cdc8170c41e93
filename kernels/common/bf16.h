// bfloat16 as bits: the upper half of a float, rounded to nearest even.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "core/op/tensor_view.h"

namespace ipex_studio {

struct Bf16 {
  std::uint16_t bits;
};

inline float bf16ToFloat(std::uint16_t bits) {
  const std::uint32_t wide = std::uint32_t{bits} << 16;
  float value;
  std::memcpy(&value, &wide, sizeof(value));
  return value;
}

inline std::uint16_t floatToBf16(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  if (std::isnan(value)) return static_cast<std::uint16_t>((bits >> 16) | 0x40);
  return static_cast<std::uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

// Number `at` of `data`, which holds f32 or bf16.
inline float floatAt(DType dtype, const void* data, std::int64_t at) {
  return dtype == DType::kBf16 ? bf16ToFloat(static_cast<const std::uint16_t*>(data)[at])
                               : static_cast<const float*>(data)[at];
}

}  // namespace ipex_studio
