// Weights of linear layers with a scale per group, as files and kernels hold them. A row is one output channel; along
// its depth every `group` weights share a scale, the last group may be shorter.
//   8 bits: s8 [N, K]. 4 bits: u8 [N, nibbleRowBytes(K)]: of 32 weights that follow each other byte i holds weight i in
//   its low half and weight 16 + i in its high half, as the place of its level among sixteen; rows are filled up with
//   place 8.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "core/op/op_spec.h"

namespace ipex_studio {

constexpr std::int64_t kNibbleBlock = 32;  // weights that are packed together; groups are multiples of it
constexpr std::int64_t kNibbleZero = 8;    // the place of the even level 0
constexpr std::int64_t kLargestGroup = 1 << 20;

// The numbers that the places of 4 bits stand for before they are scaled, in rising order.
using NibbleLevels = std::array<float, 16>;
inline constexpr NibbleLevels kEvenLevels = {-8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7};
// NF4: quantiles of a normal distribution, from -1 to 1 (Dettmers et al., QLoRA, arXiv:2305.14314, appendix E).
inline constexpr NibbleLevels kNf4Levels = {-1.0F,
                                            -0.6961928009986877F,
                                            -0.5250730514526367F,
                                            -0.39491748809814453F,
                                            -0.28444138169288635F,
                                            -0.18477343022823334F,
                                            -0.09105003625154495F,
                                            0.0F,
                                            0.07958029955625534F,
                                            0.16093020141124725F,
                                            0.24611230194568634F,
                                            0.33791524171829224F,
                                            0.44070982933044434F,
                                            0.5626170039176941F,
                                            0.7229568362236023F,
                                            1.0F};

// The levels of a name, "even" or "nf4"; null for others. The pointer is valid for the process's life.
inline const NibbleLevels* nibbleLevels(std::string_view name) {
  return name == "even" ? &kEvenLevels : name == "nf4" ? &kNf4Levels : nullptr;
}
// Those of an operation with weights of 4 bits.
inline const NibbleLevels* nibbleLevels(const OpSpec& spec) { return nibbleLevels(spec.stringOr("levels", "even")); }

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
