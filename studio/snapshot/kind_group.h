// Groups of operation kinds, which decide an operation's colour, its strip and its word in tables.
#pragma once

#include <cstdint>
#include <string>

namespace ipex_studio {

// Group of the kind of a node or step.
enum class KindGroup : std::uint8_t {
  kConvolution,
  kLinear,
  kAttention,
  kPooling,
  kNormalization,
  kElementwise,
  kEmbedding,
  kReorder,  // conversions: reorder, cast, quantize, contiguous
  kInputOutput,
  kOther,
};
constexpr int kKindGroups = 10;

// Group of a kind as graphs and plans write it: "aten::conv2d", "ipex_studio::convolution", "convolution", "reorder".
KindGroup kindGroup(const std::string& kind);
// Name of a group in tables: "convolution".
const char* kindGroupName(KindGroup group);

}  // namespace ipex_studio
