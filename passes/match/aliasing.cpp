// When one value may stand for another.
#include "passes/match/aliasing.h"

#include <algorithm>

namespace ipex_studio {

using torch::jit::Node;
using torch::jit::Value;

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
