// Places of what is not zero, and rows that a mask chooses: results whose sizes depend on the data.
#pragma once

#include <cstdint>
#include <vector>

namespace ipex_studio {

// Places of the bytes that are not zero, ascending.
std::vector<std::int64_t> chosenPlaces(const std::uint8_t* mask, std::int64_t count, std::int32_t threads);

// The same for numbers that are not equal to zero; NaN is not.
std::vector<std::int64_t> nonzeroPlaces(const float* numbers, std::int64_t count, std::int32_t threads);
std::vector<std::int64_t> nonzeroPlaces(const std::int64_t* numbers, std::int64_t count, std::int32_t threads);
std::vector<std::int64_t> nonzeroPlaces(const std::int32_t* numbers, std::int64_t count, std::int32_t threads);

// Rows of `row_bytes` bytes: block b of the dense source has `per_block` of them, that of the dense one
// `places.size()`.
struct ChosenRows {
  const std::vector<std::int64_t>& places;
  std::int64_t blocks = 1, per_block = 0, row_bytes = 0;
  std::int32_t threads = 1;
};
// dense[b][i] = source[b][places[i]]
void readChosenRows(const ChosenRows& rows, const void* source, void* dense);
// target[b][places[i]] = dense[b][i]; places differ.
void writeChosenRows(const ChosenRows& rows, const void* dense, void* target);

}  // namespace ipex_studio
