// See kind_group.h.
#include "studio/snapshot/kind_group.h"

#include <array>
#include <string_view>

namespace ipex_studio {
namespace {

struct KindWord {
  std::string_view word;
  KindGroup group;
};

// Searched in order; the first word that occurs in the kind decides.
constexpr KindWord kKindWords[] = {
    {"reorder", KindGroup::kReorder},
    {"quantize", KindGroup::kReorder},
    {"cast", KindGroup::kReorder},
    {"to_mkldnn", KindGroup::kReorder},
    {"to_dense", KindGroup::kReorder},
    {"contiguous", KindGroup::kReorder},
    {"attention", KindGroup::kAttention},
    {"softmax", KindGroup::kAttention},
    {"conv", KindGroup::kConvolution},
    {"squeeze_excite", KindGroup::kConvolution},
    {"pointwise_depthwise", KindGroup::kConvolution},
    {"embedding", KindGroup::kEmbedding},
    {"gather", KindGroup::kEmbedding},
    {"index_select", KindGroup::kEmbedding},
    {"linear", KindGroup::kLinear},
    {"matmul", KindGroup::kLinear},
    {"addmm", KindGroup::kLinear},
    {"baddbmm", KindGroup::kLinear},
    {"bmm", KindGroup::kLinear},
    {"einsum", KindGroup::kLinear},
    {"lstm", KindGroup::kLinear},
    {"gru", KindGroup::kLinear},
    {"norm", KindGroup::kNormalization},
    {"pool", KindGroup::kPooling},
    {"upsample", KindGroup::kPooling},
    {"interpolate", KindGroup::kPooling},
    {"resize", KindGroup::kPooling},
    {"reduce", KindGroup::kPooling},
    {"mean", KindGroup::kPooling},
    {"pointwise", KindGroup::kElementwise},
    {"relu", KindGroup::kElementwise},
    {"gelu", KindGroup::kElementwise},
    {"silu", KindGroup::kElementwise},
    {"elu", KindGroup::kElementwise},
    {"mish", KindGroup::kElementwise},
    {"sigmoid", KindGroup::kElementwise},
    {"tanh", KindGroup::kElementwise},
    {"hardswish", KindGroup::kElementwise},
    {"clamp", KindGroup::kElementwise},
    {"dropout", KindGroup::kElementwise},
    {"add", KindGroup::kElementwise},
    {"sub", KindGroup::kElementwise},
    {"mul", KindGroup::kElementwise},
    {"div", KindGroup::kElementwise},
    {"pow", KindGroup::kElementwise},
    {"exp", KindGroup::kElementwise},
    {"log", KindGroup::kElementwise},
    {"sqrt", KindGroup::kElementwise},
    {"erf", KindGroup::kElementwise},
    {"neg", KindGroup::kElementwise},
    {"abs", KindGroup::kElementwise},
    {"masked_fill", KindGroup::kElementwise},
    {"where", KindGroup::kElementwise},
    {"param", KindGroup::kInputOutput},
    {"return", KindGroup::kInputOutput},
    {"graph_input", KindGroup::kInputOutput},
    {"graph_output", KindGroup::kInputOutput},
    {"hardtanh", KindGroup::kElementwise},
};

}  // namespace

KindGroup kindGroup(const std::string& kind) {
  const std::size_t colon = kind.rfind("::");
  const std::string_view word = std::string_view(kind).substr(colon == std::string::npos ? 0 : colon + 2);
  if (word.size() > 64) return KindGroup::kOther;
  if (word == "expand" || word == "slice" || word == "select" || word == "permute") return KindGroup::kOther;
  for (const KindWord& entry : kKindWords) {
    if (word.find(entry.word) != std::string_view::npos) return entry.group;
  }
  return KindGroup::kOther;
}

const char* kindGroupName(KindGroup group) {
  constexpr std::array<const char*, kKindGroups> kNames = {"convolution",   "linear",      "attention", "pooling",
                                                           "normalization", "elementwise", "embedding", "reorder",
                                                           "input/output",  "other"};
  return kNames[static_cast<std::size_t>(group)];
}

}  // namespace ipex_studio
