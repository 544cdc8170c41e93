// See optional_argument.h.
#include "passes/simplify/optional_argument.h"

#include "core/graph/node_facts.h"

namespace ipex_studio {

c10::TypePtr givenType(const torch::jit::Value* optional) {
  for (const torch::jit::Use& use : optional->uses()) {
    if (isKind(use.user, "prim::unchecked_cast") && knownDtype(use.user->output())) return use.user->output()->type();
  }
  return nullptr;
}

}  // namespace ipex_studio
