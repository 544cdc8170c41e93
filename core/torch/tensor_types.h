// Types that values with tensors have.
#pragma once

#include <algorithm>

#include "core/torch/torch_compat.h"

namespace ipex_studio {

// True for tensors, and for lists and the like of them, however deep: a list of indices holds optional tensors.
inline bool holdsTensors(const c10::Type& type) {
  if (type.kind() == c10::TypeKind::TensorType) return true;
  const auto contained = type.containedTypes();
  return std::any_of(contained.begin(), contained.end(), [](const auto& inner) { return holdsTensors(*inner); });
}

}  // namespace ipex_studio
