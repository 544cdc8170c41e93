// When one value may stand for another although memory is shared: what the eliminating passes ask.
#pragma once

#include "core/graph/pass.h"

namespace ipex_studio {

// Does the value own memory that nothing else names when it is born? By schema, without operators known to return
// their input all the same.
bool isFresh(const torch::jit::Value* value);
// Operators whose schema promises a fresh result but which may return their input or a view of it.
bool mayReturnInput(const torch::jit::Node* node);

// Is the value a result of its block? Of a value with many readers only the first are looked at: such a value has other
// uses in any case, and all its readers may ask.
bool isGraphOutput(const torch::jit::Value* value);

// May users of `from` read `to` instead, where both always hold the same numbers and `from` is `to` or a view of it
// (`is_view`), or a copy? A copy may go only where nobody can tell: neither is written to, and it does not leave the
// graph, or leaves it as the only name of fresh memory. Declines: value-may-be-aliased-or-written,
// value-is-graph-output.
Decline checkSameValue(PassContext& context, torch::jit::Value* from, torch::jit::Value* to, bool is_view);

}  // namespace ipex_studio
