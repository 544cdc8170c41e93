// Properties of two-byte floats. Sums of their products are f32 wherever they are computed.
#pragma once

#include "core/op/tensor_view.h"

namespace ipex_studio {

inline bool isLowPrecisionFloat(DType dtype) { return dtype == DType::kBf16 || dtype == DType::kF16; }

// True for f32 and the low-precision floats.
inline bool isFloatDtype(DType dtype) { return dtype == DType::kF32 || isLowPrecisionFloat(dtype); }

}  // namespace ipex_studio
