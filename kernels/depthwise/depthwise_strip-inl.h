// The innermost part of depthwise convolutions as other code sees it, once per Highway target.
#if defined(IPEX_KERNELS_DEPTHWISE_STRIP_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef IPEX_KERNELS_DEPTHWISE_STRIP_INL_H
#undef IPEX_KERNELS_DEPTHWISE_STRIP_INL_H
#else
#define IPEX_KERNELS_DEPTHWISE_STRIP_INL_H
#endif

#include "kernels/common/simd-inl.h"
#include "kernels/depthwise/depthwise_job.h"

HWY_BEFORE_NAMESPACE();
namespace ipex_studio::HWY_NAMESPACE {

// Code for whole windows of the job's taps and vectors of `lanes` channels: 1, 4, 8 or 16, up to what the target has.
// Compiled once, in depthwise_strip.cpp, for all kernels that slide windows over lines.
const DepthwiseStripRuns& stripRuns(const DepthwiseJob& job, std::int64_t lanes);

// The part of `job`'s chain that is computed in registers.
template <class D, class Job, class V = hn::Vec<D>>
HWY_INLINE V activate(D d, const Job& job, V v) {
  // Max and Min return their second argument when one is NaN: the value goes second, so NaN stays.
  if (job.activation == GemmActivation::kHardSwish) {
    const V gate = hn::Min(hn::Set(d, 6.0f), hn::Max(hn::Zero(d), hn::Add(v, hn::Set(d, 3.0f))));
    return hn::Mul(hn::Mul(v, gate), hn::Set(d, 1.0f / 6));
  }
  return hn::Min(hn::Set(d, job.high), hn::Max(hn::Set(d, job.low), v));
}

}  // namespace ipex_studio::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
