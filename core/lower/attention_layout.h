// Recognizes attention whose result [N, H, S, E] is read as [N, S, H, E], which the projection behind it nearly always
// does.
#pragma once

#include <algorithm>

#include "core/graph/fused_op.h"

namespace ipex_studio {

// True if every reader of `result` exchanges its axes -3 and -2, perhaps behind a view that only joins axes before
// them.
inline bool readHeadsLast(const torch::jit::Value* result) {
  const auto sizes = knownSizes(result);
  if (!sizes || sizes->size() < 3 || !result->hasUses()) return false;
  const auto rank = static_cast<std::int64_t>(sizes->size());
  const auto wrapped = [rank](std::int64_t axis) { return axis < 0 ? axis + rank : axis; };
  return std::all_of(result->uses().begin(), result->uses().end(), [&](const torch::jit::Use& use) {
    const torch::jit::Node* user = use.user;
    const std::string kind = user->kind().toQualString();
    if (use.offset != 0) return false;
    if (kind == "aten::reshape" || kind == "aten::view") {
      const auto viewed = knownSizes(user->output());
      return viewed && viewed->size() >= 3 && viewed->size() < sizes->size() &&
             std::equal(viewed->end() - 3, viewed->end(), sizes->end() - 3) && readHeadsLast(user->output());
    }
    if (kind == "aten::transpose" && user->inputs().size() == 3) {
      const auto a = constantInt(user->input(1)), b = constantInt(user->input(2));
      return a && b && std::min(wrapped(*a), wrapped(*b)) == rank - 3 && std::max(wrapped(*a), wrapped(*b)) == rank - 2;
    }
    const auto order = kind == "aten::permute" ? constantInts(user->input(1)) : std::nullopt;
    if (!order || static_cast<std::int64_t>(order->size()) != rank) return false;
    for (std::int64_t axis = 0; axis < rank; ++axis) {
      const std::int64_t expected = axis == rank - 3 ? rank - 2 : axis == rank - 2 ? rank - 3 : axis;
      if (wrapped((*order)[static_cast<std::size_t>(axis)]) != expected) return false;
    }
    return true;
  });
}

}  // namespace ipex_studio
