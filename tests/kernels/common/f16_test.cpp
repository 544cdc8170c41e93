// Conversions between FP16 and FP32 on every instruction set: all FP16 numbers, and values between two of them.
#include "kernels/common/f16.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "kernels/copy/value_conversion.h"

namespace ipex_studio::kernel_test {
namespace {

constexpr const char* kF16Tiers[] = {"avx512_core", "avx2", "sse41"};

// The exact value, composed of sign, exponent and mantissa.
double valueOfF16(std::uint32_t bits) {
  const int exponent = static_cast<int>(bits >> 10u & 31u), mantissa = static_cast<int>(bits & 1023u);
  const double sign = (bits & 0x8000u) != 0 ? -1 : 1;
  if (exponent == 31)
    return mantissa == 0 ? sign * std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  return sign * (exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25));
}

std::uint32_t floatBits(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

TEST(F16, UpconvertsEveryNumber) {
  std::vector<std::uint16_t> all(1 << 16);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint16_t>(i);
  for (const char* isa : kF16Tiers) {
    std::vector<float> wide(all.size());
    valueConversion(isa).upconvert(DType::kF16, all.data(), wide.data(), 0, static_cast<std::int64_t>(all.size()));
    int wrong = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const double expected = valueOfF16(static_cast<std::uint32_t>(i));
      const bool right = std::isnan(expected) ? std::isnan(wide[i])
                                              : wide[i] == expected && std::signbit(wide[i]) == std::signbit(expected);
      wrong += right && floatBits(wide[i]) == floatBits(f16ToFloat(all[i])) ? 0 : 1;
    }
    EXPECT_EQ(wrong, 0) << isa;
  }
}

// Converts each number, the middle to the next one, and the floats beside the middle. Ties go to the even mantissa; the
// middle above the largest number, and all values beyond, become infinity.
TEST(F16, RoundsToNearestEven) {
  std::vector<float> from;
  std::vector<std::uint16_t> expected;
  const auto add = [&](double value, std::uint32_t bits) {
    from.push_back(static_cast<float>(value));
    expected.push_back(static_cast<std::uint16_t>(bits));
    from.push_back(static_cast<float>(-value));
    expected.push_back(static_cast<std::uint16_t>(bits | 0x8000u));
  };
  for (std::uint32_t bits = 0; bits < 0x7c00u; ++bits) {
    const double next = bits == 0x7bffu ? 65536 : valueOfF16(bits + 1);
    const auto middle = static_cast<float>((valueOfF16(bits) + next) / 2);
    add(valueOfF16(bits), bits);
    add(std::nextafter(middle, 0.0f), bits);
    add(middle, bits % 2 == 0 ? bits : bits + 1);
    add(std::nextafter(middle, 1e9f), bits + 1);
  }
  add(1e-30, 0);
  add(std::numeric_limits<float>::denorm_min(), 0);
  add(std::numeric_limits<float>::max(), 0x7c00u);
  add(std::numeric_limits<float>::infinity(), 0x7c00u);
  for (const char* isa : kF16Tiers) {
    std::vector<std::uint16_t> halves(from.size());
    valueConversion(isa).downconvert(DType::kF16, from.data(), halves.data(), 0,
                                     static_cast<std::int64_t>(from.size()));
    int wrong = 0;
    for (std::size_t i = 0; i < from.size(); ++i)
      wrong += halves[i] == expected[i] && floatToF16(from[i]) == expected[i] ? 0 : 1;
    EXPECT_EQ(wrong, 0) << isa;
  }
}

TEST(F16, KeepsNaN) {
  for (const std::uint32_t bits : {0x7fc00000u, 0xffc12345u, 0x7f800001u, 0xff80ffffu, 0x7fffffffu}) {
    std::vector<float> from(37);
    for (float& value : from) std::memcpy(&value, &bits, sizeof(value));
    for (const char* isa : kF16Tiers) {
      std::vector<std::uint16_t> halves(from.size());
      valueConversion(isa).downconvert(DType::kF16, from.data(), halves.data(), 0,
                                       static_cast<std::int64_t>(from.size()));
      for (const std::uint16_t now : halves) {
        EXPECT_EQ(now, 0x7e00u | (bits >> 13u & 0x3ffu) | (bits >> 16u & 0x8000u)) << isa;
      }
    }
  }
}

}  // namespace
}  // namespace ipex_studio::kernel_test
