// BF16 values as FP32 and back, for operands that are computed in FP32.
#pragma once

#include <cstdint>

#include "kernels/common/bf16.h"

namespace ipex_studio {

void upconvert(const Bf16* from, std::int64_t count, std::int32_t threads, float* to);
// Rounds to nearest even.
void downconvert(const float* from, std::int64_t count, std::int32_t threads, Bf16* to);

}  // namespace ipex_studio
