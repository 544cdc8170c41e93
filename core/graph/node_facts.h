// Facts about nodes and values that several files ask for.
#pragma once

#include <algorithm>
#include <cstring>
#include <optional>

#include "core/graph/fused_op.h"

namespace ipex_studio {

// True if the node has this kind, written with its namespace: "aten::add".
inline bool isKind(const torch::jit::Node* node, const char* name) {
  return std::strcmp(name, node->kind().toQualString()) == 0;
}

// True for nodes that return their operand in another dtype.
inline bool convertsDtype(const torch::jit::Node* node) {
  return isKind(node, "aten::to") || isKind(node, "aten::type_as") || isKind(node, "aten::float");
}

// True for view and reshape to a list of sizes, which keep the elements and their order.
inline bool isReshape(const torch::jit::Node* node) {
  return (isKind(node, "aten::view") || isKind(node, "aten::reshape")) && node->inputs().size() == 2 &&
         node->input(1)->type()->kind() == c10::TypeKind::ListType;
}

inline bool isFloat(const torch::jit::Value* value) { return knownDtype(value) == at::kFloat; }

// True for BF16 and FP16.
inline bool isLowPrecisionFloat(std::optional<at::ScalarType> dtype) {
  return dtype == at::kBFloat16 || dtype == at::kHalf;
}

// Number of elements of a value of known sizes; 1 if they are unknown.
inline double knownElements(const torch::jit::Value* value) {
  const auto sizes = knownSizes(value);
  double count = 1;
  for (const std::int64_t size : sizes.value_or(std::vector<std::int64_t>{})) count *= static_cast<double>(size);
  return count;
}

// The node of `block` that `node` is or is nested in; null if it is outside.
inline const torch::jit::Node* ancestorIn(const torch::jit::Node* node, const torch::jit::Block* block) {
  while (node != nullptr && node->owningBlock() != block) node = node->owningBlock()->owningNode();
  return node;
}

// True if the node is in the block, or nested in one that is.
inline bool isInside(const torch::jit::Node* node, const torch::jit::Block* block) {
  return ancestorIn(node, block) != nullptr;
}

// The place in a list of `count` elements that a constant index names; nullopt if it names none.
inline std::optional<std::size_t> constantIndex(const torch::jit::Value* index, std::size_t count) {
  const auto size = static_cast<std::int64_t>(count);
  const auto number = constantInt(index);
  if (!number || *number < -size || *number >= size) return std::nullopt;
  return static_cast<std::size_t>(*number < 0 ? *number + size : *number);
}

// The bounds and the step of aten::slice(list, start?, end?, step) of a list of `count` elements, if they are constant
// and the step is positive.
struct ListSlice {
  std::int64_t begin = 0, end = 0, step = 1;
};
inline std::optional<ListSlice> constantSlice(const torch::jit::Node* node, std::size_t count) {
  if (!isKind(node, "aten::slice") || node->inputs().size() != 4) return std::nullopt;
  const auto size = static_cast<std::int64_t>(count);
  const auto bound = [&](const torch::jit::Value* value, std::int64_t otherwise) -> std::optional<std::int64_t> {
    if (isNone(value)) return otherwise;
    const auto given = constantInt(value);
    if (!given) return std::nullopt;
    return std::clamp<std::int64_t>(*given < 0 ? *given + size : *given, 0, size);
  };
  const auto begin = bound(node->input(1), 0), end = bound(node->input(2), size), step = constantInt(node->input(3));
  if (!begin || !end || !step || *step < 1) return std::nullopt;
  return ListSlice{*begin, *end, *step};
}

}  // namespace ipex_studio
