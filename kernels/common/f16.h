// IEEE 754 binary16 as bits. Conversion to it rounds to nearest even; from 65520 on it gives infinity. Subnormal
// numbers are exact also where the CPU flushes those of f32 to zero. NaN becomes a quiet one with the upper bits of its
// payload, as F16C gives.
#pragma once

#include <cstdint>
#include <cstring>

namespace ipex_studio {

inline float f16ToFloat(std::uint16_t bits) {
  const std::uint32_t sign = (bits & 0x8000u) << 16u, exponent = bits >> 10u & 31u, mantissa = bits & 0x3ffu;
  std::uint32_t wide = (exponent + 112) << 23u | mantissa << 13u;
  if (exponent == 31) wide = 0x7f800000u | mantissa << 13u | (mantissa != 0 ? 0x400000u : 0u);
  float value = static_cast<float>(mantissa) * 0x1p-24f;
  if (exponent == 0) std::memcpy(&wide, &value, sizeof(wide));
  wide |= sign;
  std::memcpy(&value, &wide, sizeof(value));
  return value;
}

inline std::uint16_t floatToF16(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  const std::uint32_t sign = bits >> 16u & 0x8000u;
  bits &= 0x7fffffffu;
  std::uint32_t half = (bits - (112u << 23u) + 0xfffu + (bits >> 13u & 1u)) >> 13u;
  if (bits < 0x38800000u) {  // below 2^-14: the sum with 0.5 is rounded to multiples of 2^-24
    float sum;
    std::memcpy(&sum, &bits, sizeof(sum));
    sum += 0.5f;
    std::memcpy(&half, &sum, sizeof(half));
    half -= 0x3f000000u;
  }
  if (bits >= 0x477ff000u) half = 0x7c00u;
  if (bits > 0x7f800000u) half = 0x7e00u | (bits >> 13u & 0x3ffu);
  return static_cast<std::uint16_t>(sign | half);
}

}  // namespace ipex_studio
