// Groups of operation kinds: what decides an operation's colour, its strip and the word in tables.
#pragma once

#include <cstdint>
#include <string>

namespace ipex_studio {

// Coarse group of a node or step: decides its colour, its strip and the word in tables.
enum class KindGroup : std::uint8_t {
  kConvolution,
  kLinear,
  kAttention,
  kPooling,
  kNormalization,
  kElementwise,
  kEmbedding,
  kReorder,
  kInputOutput,
  kOther,
};
constexpr int kKindGroups = 10;
// From "aten::conv2d", "ipex_studio::convolution", "convolution", "reorder" …
KindGroup kindGroup(const std::string& kind);
const char* kindGroupName(KindGroup group);  // "convolution"

}  // namespace ipex_studio
