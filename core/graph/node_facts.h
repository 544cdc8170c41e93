// Small questions about nodes and values that several files ask.
#pragma once

#include <cstring>

#include "core/graph/fused_op.h"

namespace ipex_studio {

// The node's kind with its namespace, "aten::add".
inline bool isKind(const torch::jit::Node* node, const char* name) {
  return std::strcmp(name, node->kind().toQualString()) == 0;
}

// Gives its operand in another dtype.
inline bool convertsDtype(const torch::jit::Node* node) {
  return isKind(node, "aten::to") || isKind(node, "aten::type_as") || isKind(node, "aten::float");
}

// view or reshape to a list of sizes: the same elements in their order.
inline bool isReshape(const torch::jit::Node* node) {
  return (isKind(node, "aten::view") || isKind(node, "aten::reshape")) && node->inputs().size() == 2 &&
         node->input(1)->type()->kind() == c10::TypeKind::ListType;
}

inline bool isFloat(const torch::jit::Value* value) { return knownDtype(value) == at::kFloat; }

// BF16 or FP16.
inline bool isLowPrecisionFloat(std::optional<at::ScalarType> dtype) {
  return dtype == at::kBFloat16 || dtype == at::kHalf;
}

// Elements of a value of known sizes; 1 when they are unknown.
inline double knownElements(const torch::jit::Value* value) {
  const auto sizes = knownSizes(value);
  double count = 1;
  for (const std::int64_t size : sizes.value_or(std::vector<std::int64_t>{})) count *= static_cast<double>(size);
  return count;
}

}  // namespace ipex_studio
