// When one value may stand for another.
#include "passes/match/aliasing.h"

#include <algorithm>
#include <string>
#include <unordered_set>

namespace ipex_studio {

using torch::jit::Node;
using torch::jit::Value;

bool mayReturnInput(const Node* node) {
  static const std::unordered_set<std::string> names = {"dropout",       "feature_dropout",
                                                        "alpha_dropout", "feature_alpha_dropout",
                                                        "type_as",       "broadcast_tensors",
                                                        "atleast_1d",    "atleast_2d",
                                                        "atleast_3d",    "einsum",
                                                        "meshgrid",      "tensordot"};
  return names.count(node->kind().toUnqualString()) != 0;
}

bool isFresh(const Value* value) {
  const Node* node = value->node();
  const bool ours = std::string(node->kind().ns().toUnqualString()) == "ipex_studio";
  if ((!node->kind().is_aten() && !ours) || !node->blocks().empty() || mayReturnInput(node)) return false;
  const auto* schema = node->maybeSchema();
  if (schema == nullptr || schema->returns().size() <= value->offset()) return false;
  const auto& result = schema->returns()[value->offset()];
  return result.alias_info() == nullptr && result.type()->kind() == c10::TypeKind::TensorType;
}

bool isGraphOutput(const Value* value) {
  constexpr std::size_t kLookedAt = 32;
  const auto& uses = value->uses();
  const auto end = uses.begin() + static_cast<std::ptrdiff_t>(std::min(uses.size(), kLookedAt));
  return std::any_of(uses.begin(), end,
                     [](const torch::jit::Use& use) { return use.user->kind() == torch::jit::prim::Return; });
}

Decline checkSameValue(PassContext& context, Value* from, Value* to, bool is_view) {
  // A copy may be kept in an attribute until the next run writes to what it is a copy of.
  const bool written = is_view ? context.mayBeWritten(from) || context.mayBeWritten(to)
                               : context.isEverWritten(from) || context.isEverWritten(to);
  if (written) return {reasons::kAliased, "The tensor may be written to."};
  if (is_view) return {};
  if (isFresh(to) && to->uses().size() == 1) return {};
  if (context.mayShareWithOutputs(from)) {
    return {reasons::kGraphOutput, "A result of the model must not share memory with anything else."};
  }
  return {};
}

}  // namespace ipex_studio
