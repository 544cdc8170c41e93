// Normally distributed numbers, the same for the same seed.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

namespace ipex_studio::kernel_test {

template <typename T>
std::vector<T> randomNumbers(std::int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<T> numbers(static_cast<std::size_t>(count));
  for (T& number : numbers) number = normal(random);
  return numbers;
}

}  // namespace ipex_studio::kernel_test
