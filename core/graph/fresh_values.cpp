// Schemas say which results own memory and which operands are written to.
#include "core/graph/fresh_values.h"

#include <algorithm>
#include <string>
#include <unordered_set>

namespace ipex_studio {

using torch::jit::Node;
using torch::jit::Value;

namespace {

bool isOurs(const Node* node) { return std::string(node->kind().ns().toUnqualString()) == "ipex_studio"; }

// True if the user of a value only looks at it.
bool onlyReads(const torch::jit::Use& use) {
  const Node* user = use.user;
  if (user->kind() == c10::prim::ListConstruct) {
    const auto& uses = user->output()->uses();
    return std::all_of(uses.begin(), uses.end(), [](const auto& of_list) {
      return isOurs(of_list.user) && of_list.user->outputs().size() == 1 && isFresh(of_list.user->output());
    });
  }
  if ((!user->kind().is_aten() && !isOurs(user)) || !user->blocks().empty() || mayReturnInput(user)) return false;
  const auto* schema = user->maybeSchema();
  return schema != nullptr && use.offset < schema->arguments().size() &&
         schema->arguments()[use.offset].alias_info() == nullptr;
}

}  // namespace

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
  if ((!node->kind().is_aten() && !isOurs(node)) || !node->blocks().empty() || mayReturnInput(node)) return false;
  const auto* schema = node->maybeSchema();
  if (schema == nullptr || schema->returns().size() <= value->offset()) return false;
  const auto& result = schema->returns()[value->offset()];
  return result.alias_info() == nullptr && result.type()->kind() == c10::TypeKind::TensorType;
}

bool hasOneName(const Value* value) {
  return isFresh(value) && std::all_of(value->uses().begin(), value->uses().end(), onlyReads);
}

}  // namespace ipex_studio
