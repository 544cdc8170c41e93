// Decides when one value may stand for another although memory is shared, for the passes that eliminate nodes.
#pragma once

#include "core/graph/fresh_values.h"
#include "core/graph/pass.h"

namespace ipex_studio {

// True if the value is a result of its block. Only the first readers of a value with many are checked: it has other
// uses in any case, and all its readers may ask.
bool isGraphOutput(const torch::jit::Value* value);

// Decides whether users of `from` may read `to` instead; both always hold the same numbers, and `from` is `to`, a view
// of it (`is_view`) or a copy. A copy may be removed only if no one can tell: neither is written to, and it does not
// leave the graph, or leaves it as the only name of fresh memory. Declines: value-may-be-aliased-or-written,
// value-is-graph-output.
Decline checkSameValue(PassContext& context, torch::jit::Value* from, torch::jit::Value* to, bool is_view);

}  // namespace ipex_studio
