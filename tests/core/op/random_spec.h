// Seeded random numbers, operation specs and text mutations for the plan tests.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <limits>
#include <random>
#include <string>

#include "core/op/op_spec.h"

namespace ipex_studio::testing {

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(engine_);
  }
  bool chance(int percent) { return between(0, 99) < percent; }
  double real() { return std::uniform_real_distribution<double>(-4, 4)(engine_); }
  std::size_t index(std::size_t size) {
    return static_cast<std::size_t>(between(0, static_cast<std::int64_t>(size) - 1));
  }

 private:
  std::mt19937_64 engine_;
};

// The factor by which campaigns repeat the work of a normal run.
inline int campaignFactor() { return std::getenv("IPEX_CAMPAIGN") != nullptr ? 50 : 1; }

inline AttrValue randomAttribute(Random& random) {
  switch (random.between(0, 3)) {
    case 0:
      return random.between(-1000, 1000);
    case 1:
      return random.chance(20) ? std::numeric_limits<double>::infinity() : random.real() * 1e-7;
    case 2:
      return std::string(random.chance(50) ? "nearest" : "f32");
    default: {
      std::vector<std::int64_t> list(random.index(5));
      for (std::int64_t& entry : list) entry = random.between(-9, 999);
      return list;
    }
  }
}

inline OpSpec randomSpec(Random& random) {
  static const char* const kNames[] = {"stride", "padding", "axis", "mode", "eps", "shape", "keepdim"};
  OpSpec spec;
  spec.kind = static_cast<OpKind>(random.between(0, static_cast<int>(OpKind::kCast)));
  for (const char* name : kNames) {
    if (random.chance(40)) spec.attributes[name] = randomAttribute(random);
  }
  for (std::int64_t p = random.between(0, 4); p > 0; --p) {
    const auto kind = static_cast<PostOpKind>(random.between(0, static_cast<int>(PostOpKind::kGe)));
    if (isBinary(kind)) {
      spec.post_ops.push_back(binaryPostOp(kind, static_cast<std::int32_t>(random.between(0, 5))));
    } else {
      spec.post_ops.push_back(unaryPostOp(kind));
    }
  }
  return spec;
}

// Applies one to four small damages: bytes replaced, dropped, doubled, exchanged for a hostile number.
inline std::string mutated(std::string text, Random& random) {
  static const char* const kNumbers[] = {
      "-1", "0", "7", "1099511627776", "9223372036854775807", "-9223372036854775808", "1e400", "nan", "3.5"};
  for (std::int64_t times = random.between(1, 4); times > 0 && !text.empty(); --times) {
    const std::size_t at = random.index(text.size());
    switch (random.between(0, 4)) {
      case 0:
        text[at] = static_cast<char>(random.between(0, 255));
        break;
      case 1:
        text.erase(at, static_cast<std::size_t>(random.between(1, 6)));
        break;
      case 2:
        text.insert(at, text.substr(at, static_cast<std::size_t>(random.between(1, 12))));
        break;
      case 3:
        text[at] = text[random.index(text.size())];
        break;
      default: {
        const std::size_t digit = text.find_first_of("0123456789", at);
        if (digit != std::string::npos) text.replace(digit, 1, kNumbers[random.index(9)]);
      }
    }
  }
  return text;
}

}  // namespace ipex_studio::testing
