// Exponentials of the scores of many rows.
#define HWY_TARGET_INCLUDE "kernels/index/segment_softmax_simd.cpp"
#include "kernels/common/simd-inl.h"

#include <algorithm>

#include "kernels/common/partial_vector-inl.h"
#include "kernels/common/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ipex_studio::HWY_NAMESPACE {

void takeExponentialsF32(float* values, std::int64_t count) {
  const F32 d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) hn::StoreU(expV(d, hn::LoadU(d, values + i)), d, values + i);
  if (i < count) storeFirst(expV(d, loadFirst(values + i, count - i)), values + i, count - i);
}

}  // namespace ipex_studio::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "kernels/index/segment_softmax.h"

namespace ipex_studio {

HWY_EXPORT(takeExponentialsF32);

ExpInPlace expInPlaceSimd(const std::string& isa) { return IPEX_SELECT_TARGET(takeExponentialsF32, isa); }

}  // namespace ipex_studio

#endif  // HWY_ONCE
