// Gradients of norms, row by row: statistics, then sums over the row, then the result, while the row is in the nearest
// cache.
#define HWY_TARGET_INCLUDE "kernels/norm/row_norm_simd.cpp"
#include "kernels/common/simd-inl.h"

#include <cmath>

#include "kernels/common/partial_vector-inl.h"
#include "kernels/norm/row_norm.h"

HWY_BEFORE_NAMESPACE();
namespace ipex_studio::HWY_NAMESPACE {

// Calls whole(i) for each whole vector of a row and last(i, count) for what is left.
template <class Whole, class Last>
HWY_INLINE void walkVectors(std::int64_t size, const Whole& whole, const Last& last) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(F32()));
  std::int64_t i = 0;
  for (; i + lanes <= size; i += lanes) whole(i);
  if (i < size) last(i, size - i);
}

HWY_INLINE VF sumOfRow(const float* x, std::int64_t size) {
  const F32 d;
  VF sum = hn::Zero(d);
  walkVectors(
      size, [&](std::int64_t i) HWY_ATTR { sum = hn::Add(sum, hn::LoadU(d, x + i)); },
      [&](std::int64_t i, std::int64_t count) HWY_ATTR { sum = hn::Add(sum, loadFirst(x + i, count)); });
  return hn::SumOfLanes(d, sum);
}

HWY_INLINE float squaresOfRow(const float* x, std::int64_t size, float mean) {
  const F32 d;
  const VF m = hn::Set(d, mean);
  VF sum = hn::Zero(d);
  walkVectors(
      size,
      [&](std::int64_t i) HWY_ATTR {
        const VF v = hn::Sub(hn::LoadU(d, x + i), m);
        sum = hn::MulAdd(v, v, sum);
      },
      [&](std::int64_t i, std::int64_t count) HWY_ATTR {
        const VF v =
            hn::IfThenElseZero(hn::FirstN(d, static_cast<std::size_t>(count)), hn::Sub(loadFirst(x + i, count), m));
        sum = hn::MulAdd(v, v, sum);
      });
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

void runRowGradient(const RowNormJob& job, const float* x, const float* gamma, const float* of_y, const float* of_sum,
                    const RowNormGradients<float>& row) {
  const F32 d;
  const auto n = static_cast<float>(job.size);
  const bool centered = job.norm == RowNorm::kDeviation;
  const float mean = centered ? hn::GetLane(sumOfRow(x, job.size)) / n : 0.0f;
  const float factor = 1.0f / std::sqrt(squaresOfRow(x, job.size, mean) / n + static_cast<float>(job.eps));
  const VF m = hn::Set(d, mean), f = hn::Set(d, factor);
  VF sum = hn::Zero(d), product = hn::Zero(d);
  // g is zero beyond the row, and so is all that is summed.
  const auto addTo = [&](VF v, VF g, VF weight) HWY_ATTR {
    const VF normalized = hn::Mul(hn::Sub(v, m), f), h = hn::Mul(g, weight);
    sum = hn::Add(sum, h);
    product = hn::MulAdd(h, normalized, product);
    return hn::Mul(g, normalized);
  };
  walkVectors(
      job.size,
      [&](std::int64_t i) HWY_ATTR {
        const VF g = hn::LoadU(d, of_y + i);
        const VF of_gamma = addTo(hn::LoadU(d, x + i), g, gamma ? hn::LoadU(d, gamma + i) : hn::Set(d, 1.0f));
        if (row.gamma) hn::StoreU(hn::Add(hn::LoadU(d, row.gamma + i), of_gamma), d, row.gamma + i);
        if (row.beta) hn::StoreU(hn::Add(hn::LoadU(d, row.beta + i), g), d, row.beta + i);
      },
      [&](std::int64_t i, std::int64_t count) HWY_ATTR {
        const VF g = loadFirst(of_y + i, count);
        const VF of_gamma = addTo(loadFirst(x + i, count), g, gamma ? loadFirst(gamma + i, count) : hn::Set(d, 1.0f));
        if (row.gamma) storeFirst(hn::Add(loadFirst(row.gamma + i, count), of_gamma), row.gamma + i, count);
        if (row.beta) storeFirst(hn::Add(loadFirst(row.beta + i, count), g), row.beta + i, count);
      });
  const VF mean_h = hn::Set(d, centered ? hn::GetLane(hn::SumOfLanes(d, sum)) / n : 0.0f);
  const VF mean_product = hn::Set(d, hn::GetLane(hn::SumOfLanes(d, product)) / n);
  const auto gradient = [&](VF v, VF g, VF weight) HWY_ATTR {
    const VF normalized = hn::Mul(hn::Sub(v, m), f);
    return hn::Mul(f, hn::Sub(hn::NegMulAdd(normalized, mean_product, hn::Mul(g, weight)), mean_h));
  };
  walkVectors(
      job.size,
      [&](std::int64_t i) HWY_ATTR {
        VF result =
            gradient(hn::LoadU(d, x + i), hn::LoadU(d, of_y + i), gamma ? hn::LoadU(d, gamma + i) : hn::Set(d, 1.0f));
        if (of_sum) result = hn::Add(result, hn::LoadU(d, of_sum + i));
        hn::StoreU(result, d, row.x + i);
      },
      [&](std::int64_t i, std::int64_t count) HWY_ATTR {
        VF result = gradient(loadFirst(x + i, count), loadFirst(of_y + i, count),
                             gamma ? loadFirst(gamma + i, count) : hn::Set(d, 1.0f));
        if (of_sum) result = hn::Add(result, loadFirst(of_sum + i, count));
        storeFirst(result, row.x + i, count);
      });
}

}  // namespace ipex_studio::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace ipex_studio {

HWY_EXPORT(runRowGradient);

RowGradient<float> rowGradientSimd(const std::string& isa) { return IPEX_SELECT_TARGET(runRowGradient, isa); }

}  // namespace ipex_studio

#endif  // HWY_ONCE
