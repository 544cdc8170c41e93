// Facts about nodes and values that several files ask for.
#pragma once

#include <cstring>

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

}  // namespace ipex_studio
