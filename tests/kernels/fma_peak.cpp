// Measures the peak of fused multiply-adds on one core.
#define HWY_TARGET_INCLUDE "tests/kernels/fma_peak.cpp"
#include "kernels/common/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ipex_studio::kernel_test::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Runs multiplications in chains that do not wait for each other; returns their number of operations.
double runChains(long rounds, float* sink) {
  const hn::ScalableTag<float> d;
  constexpr int kChains = 12;
  hn::Vec<decltype(d)> sum[kChains];
  for (int i = 0; i < kChains; ++i) sum[i] = hn::Set(d, static_cast<float>(i));
  const auto a = hn::Set(d, 0.999f), b = hn::Set(d, 0.001f);
  for (long round = 0; round < rounds; ++round) {
#pragma GCC unroll 12
    for (int i = 0; i < kChains; ++i) sum[i] = hn::MulAdd(sum[i], a, b);
  }
  float total = 0;
  for (int i = 0; i < kChains; ++i) total += hn::GetLane(sum[i]);
  *sink = total;
  return 2.0 * kChains * static_cast<double>(rounds) * static_cast<double>(hn::Lanes(d));
}

}  // namespace ipex_studio::kernel_test::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <algorithm>
#include <chrono>

#include "tests/kernels/fma_peak.h"

namespace ipex_studio::kernel_test {

HWY_EXPORT(runChains);

double fmaPeak() {
  using Clock = std::chrono::steady_clock;
  constexpr long kRounds = 100000;
  constexpr int kTries = 30;
  double best = 0;
  [[maybe_unused]] volatile float sink = 0;  // keeps the compiler from removing the sums
  for (int i = 0; i < kTries; ++i) {
    float value = 0;
    const auto start = Clock::now();
    const double operations = HWY_DYNAMIC_DISPATCH(runChains)(kRounds, &value);
    best = std::max(best, operations / std::chrono::duration<double>(Clock::now() - start).count());
    sink = value;
  }
  return best;
}

}  // namespace ipex_studio::kernel_test

#endif  // HWY_ONCE
