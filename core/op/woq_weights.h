// Weights of linear layers with a scale per group, as files and kernels hold them. A row is one output channel; along
// its depth every `group` weights share a scale, the last group may be shorter.
//   8 bits: s8 [N, K]. 4 bits: u8 [N, nibbleRowBytes(K)]: of 32 weights that follow each other byte i holds weight i in
//   its low half and weight 16 + i in its high half, as level + 8 with levels of -8 … 7; rows are filled up with
//   level 0.
#pragma once

#include <cstdint>

namespace ipex_studio {

constexpr std::int64_t kNibbleBlock = 32;  // weights that are packed together; groups are multiples of it
constexpr std::int64_t kNibbleZero = 8;    // stands for level 0
constexpr std::int64_t kLargestGroup = 1 << 20;

constexpr std::int64_t nibbleRowBytes(std::int64_t depth) {
  return (depth + kNibbleBlock - 1) / kNibbleBlock * (kNibbleBlock / 2);
}
constexpr std::int64_t groupCount(std::int64_t depth, std::int64_t group) { return (depth + group - 1) / group; }

// The byte of weight `k` of a row, and the half of that byte.
constexpr std::int64_t nibbleByte(std::int64_t k) {
  return k / kNibbleBlock * (kNibbleBlock / 2) + k % (kNibbleBlock / 2);
}
constexpr bool nibbleIsHigh(std::int64_t k) { return k % kNibbleBlock >= kNibbleBlock / 2; }

// Tables of embeddings with a scale per row: u8 [V, E + kRowParameterBytes], each row its E integers, then scale and
// offset as two f32: value = scale · q + offset. The rows of PyTorch's quantized::embedding_bag_byte are the same.
constexpr std::int64_t kRowParameterBytes = 8;

}  // namespace ipex_studio
