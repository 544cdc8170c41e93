// Arithmetic on rows of embedding tables, FP32.
#define HWY_TARGET_INCLUDE "kernels/index/row_math_simd.cpp"
#include "kernels/common/simd-inl.h"

#include <algorithm>

#include "kernels/common/partial_vector-inl.h"
#include "kernels/index/bag_sums-inl.h"
#include "kernels/index/row_sums-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ipex_studio::HWY_NAMESPACE {

void addTableRows(const RowAddends<float>& addends, std::int64_t width, float* sums, bool fresh) {
  addRowsOf(addends, width, sums, fresh);
}

void sumTableBags(const EmbeddingBagJob& job, const void* ids, const void* offsets, const float* table, float* y,
                  std::int64_t begin, std::int64_t end) {
  sumCheckedBags(job, ids, offsets, table, y, begin, end);
}

float multiplyRows(const float* a, const float* b, std::int64_t width) {
  const F32 d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  VF sum = hn::Zero(d);
  for (std::int64_t e = 0; e < width; e += lanes) {
    const std::int64_t count = std::min(lanes, width - e);
    sum = hn::MulAdd(loadFirst(a + e, count), loadFirst(b + e, count), sum);
  }
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

void stepRow(float* w, const float* g, std::int64_t width, float lr, float decay) {
  const F32 d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const VF rate = hn::Set(d, lr), shrink = hn::Set(d, decay);
  for (std::int64_t e = 0; e < width; e += lanes) {
    const std::int64_t count = std::min(lanes, width - e);
    const VF weight = loadFirst(w + e, count);
    const VF gradient = hn::MulAdd(shrink, weight, loadFirst(g + e, count));
    storeFirst(hn::NegMulAdd(rate, gradient, weight), w + e, count);
  }
}

void stepRowAdagrad(float* w, float* h, const float* g, std::int64_t width, float lr, float decay, float eps) {
  const F32 d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const VF rate = hn::Set(d, lr), shrink = hn::Set(d, decay), least = hn::Set(d, eps);
  for (std::int64_t e = 0; e < width; e += lanes) {
    const std::int64_t count = std::min(lanes, width - e);
    const VF weight = loadFirst(w + e, count);
    const VF gradient = hn::MulAdd(shrink, weight, loadFirst(g + e, count));
    const VF squares = hn::MulAdd(gradient, gradient, loadFirst(h + e, count));
    storeFirst(squares, h + e, count);
    const VF step = hn::Div(hn::Mul(rate, gradient), hn::Add(hn::Sqrt(squares), least));
    storeFirst(hn::Sub(weight, step), w + e, count);
  }
}

}  // namespace ipex_studio::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "kernels/index/row_math.h"

namespace ipex_studio {

HWY_EXPORT(addTableRows);
HWY_EXPORT(sumTableBags);
HWY_EXPORT(multiplyRows);
HWY_EXPORT(stepRow);
HWY_EXPORT(stepRowAdagrad);

RowMath<float> rowMathSimd(const std::string& isa) {
  return {IPEX_SELECT_TARGET(addTableRows, isa), IPEX_SELECT_TARGET(sumTableBags, isa),
          IPEX_SELECT_TARGET(multiplyRows, isa), IPEX_SELECT_TARGET(stepRow, isa),
          IPEX_SELECT_TARGET(stepRowAdagrad, isa)};
}

}  // namespace ipex_studio

#endif  // HWY_ONCE
