// What kernels for images on an OpenCL device share: channels lie side by side, and 16 of them are computed at once.
#pragma once

#include <cstdint>

#include "core/op/tensor_view.h"

namespace ipex_studio {

constexpr std::int64_t kLanes = 16;

inline std::int32_t narrowed(std::int64_t value) { return static_cast<std::int32_t>(value); }
inline std::int64_t wholeLanes(std::int64_t count) { return (count + kLanes - 1) / kLanes * kLanes; }

// The image as a kernel reads it: as it lies if channels lie side by side.
inline TensorDesc channelsSideBySide(const TensorDesc& x) {
  const bool as_given = x.block == 0 && (x.dims[1] == 1 || x.strides[1] == 1);
  return as_given ? x : channelsLastDesc(x.dtype, x.dims);
}

}  // namespace ipex_studio
