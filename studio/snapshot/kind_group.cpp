// See kind_group.h.
#include "studio/snapshot/kind_group.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "core/base/error.h"
#include "core/op/op_kinds.h"

namespace ipex_studio {
namespace {

struct KindWord {
  std::string_view word;
  KindGroup group;
};

// Groups of operators that are no kind of plans (core/op/op_kinds.h has those). The first word that occurs in the
// name decides.
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

constexpr std::array<std::string_view, kKindGroups> kGroupNames = {
    "convolution", "linear",    "attention", "pooling",      "normalization",
    "elementwise", "embedding", "reorder",   "input/output", "other"};

KindGroup groupNamed(std::string_view name) {
  const auto found = std::find(kGroupNames.begin(), kGroupNames.end(), name);
  IPEX_CHECK(found != kGroupNames.end(), "a kind of an unknown group");
  return static_cast<KindGroup>(found - kGroupNames.begin());
}

}  // namespace

KindGroup kindGroup(const std::string& kind) {
  const std::size_t colon = kind.rfind("::");
  const std::string_view word = std::string_view(kind).substr(colon == std::string::npos ? 0 : colon + 2);
  if (word.size() > 64) return KindGroup::kOther;
  OpKind known;
  if (opKindFromName(std::string(word), &known)) return groupNamed(opKindRow(known).group);
  for (const KindWord& entry : kKindWords) {
    if (word.find(entry.word) != std::string_view::npos) return entry.group;
  }
  return KindGroup::kOther;
}

const char* kindGroupName(KindGroup group) { return kGroupNames[static_cast<std::size_t>(group)].data(); }

}  // namespace ipex_studio
