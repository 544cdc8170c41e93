// Reads indices of either width, and fills rows whose index is out of range: NaN for FP32, zeros for other types.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>

#include "core/op/tensor_view.h"

namespace ipex_studio {

// The message (ExecState::fail) of an execution that met an index out of range.
inline constexpr const char kIndexOutOfRange[] = "an index is outside of the table that it picks from";

inline std::int64_t indexAt(const void* indices, DType dtype, std::int64_t i) {
  return dtype == DType::kS64 ? static_cast<const std::int64_t*>(indices)[i]
                              : static_cast<const std::int32_t*>(indices)[i];
}

inline void fillInvalid(DType dtype, void* row, std::int64_t bytes) {
  if (dtype != DType::kF32) {
    std::memset(row, 0, bytes);
    return;
  }
  float* const values = static_cast<float*>(row);
  std::fill(values, values + bytes / static_cast<std::int64_t>(sizeof(float)), std::numeric_limits<float>::quiet_NaN());
}

}  // namespace ipex_studio
