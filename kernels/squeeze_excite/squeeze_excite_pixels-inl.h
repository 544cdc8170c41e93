// Loops of squeeze-and-excitation over pixels: sums, and products with gates, once per Highway target.
#if defined(IPEX_KERNELS_SQUEEZE_EXCITE_PIXELS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef IPEX_KERNELS_SQUEEZE_EXCITE_PIXELS_INL_H
#undef IPEX_KERNELS_SQUEEZE_EXCITE_PIXELS_INL_H
#else
#define IPEX_KERNELS_SQUEEZE_EXCITE_PIXELS_INL_H
#endif

#include <algorithm>
#include <cstdint>

#include "kernels/common/bf16-inl.h"
#include "kernels/common/partial_vector-inl.h"
#include "kernels/common/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ipex_studio::HWY_NAMESPACE {

// Adds the sums of kVectors vectors of channels, `stride` from pixel to pixel, times `factor` to `mean`. Several
// partial sums, as additions have a latency of four cycles, and short chains round less.
template <int kVectors, class T, class Load>
HWY_INLINE void sumPixels(const T* x, std::int64_t pixels, std::int64_t stride, float factor, const Load& load,
                          float* mean) {
  const F32 d;
  constexpr int kParts = 8 / kVectors;
  constexpr std::int64_t kLanes = hn::MaxLanes(d);
  VF sum[kParts][kVectors];
  for (auto& part : sum) {
    for (VF& value : part) value = hn::Zero(d);
  }
  std::int64_t p = 0;
  for (; p + kParts <= pixels; p += kParts) {
#pragma GCC unroll 8
    for (int i = 0; i < kParts; ++i) {
      const T* const at = x + (p + i) * stride;
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) sum[i][v] = hn::Add(sum[i][v], load(at + v * kLanes));
    }
  }
  for (; p < pixels; ++p) {
    for (int v = 0; v < kVectors; ++v) sum[0][v] = hn::Add(sum[0][v], load(x + p * stride + v * kLanes));
  }
#pragma GCC unroll 2
  for (int v = 0; v < kVectors; ++v) {
#pragma GCC unroll 4
    for (int step = kParts / 2; step > 0; step /= 2) {
      for (int i = 0; i < step; ++i) sum[i][v] = hn::Add(sum[i][v], sum[i + step][v]);
    }
    hn::StoreU(hn::MulAdd(sum[0][v], hn::Set(d, factor), hn::LoadU(d, mean + v * kLanes)), d, mean + v * kLanes);
  }
}

// Sums of `width` contiguous channels over `pixels`, times `factor`, some pixels at a time, as short chains round less.
// Pixels that the second-level cache does not hold are taken few at a time, so that memory is read nearly in its order.
template <class T>
void sumSides(const T* x, std::int64_t width, std::int64_t pixels, std::int64_t stride, float factor, float* mean) {
  const F32 d;
  constexpr std::int64_t kLanes = hn::MaxLanes(d), kCachedFloats = 512 << 10, kFewPixels = 16, kManyPixels = 128;
  const std::int64_t together = pixels * stride <= kCachedFloats ? kManyPixels : kFewPixels;
  const auto whole = [d](const T* from) HWY_ATTR { return loadFloats(d, from); };
  std::fill(mean, mean + width, 0.0f);
  for (std::int64_t p = 0; p < pixels; p += together, x += together * stride) {
    const std::int64_t some = std::min(together, pixels - p);
    std::int64_t c = 0;
    for (; c + 2 * kLanes <= width; c += 2 * kLanes) sumPixels<2>(x + c, some, stride, factor, whole, mean + c);
    for (; c + kLanes <= width; c += kLanes) sumPixels<1>(x + c, some, stride, factor, whole, mean + c);
    const std::int64_t rest = width - c;
    if (rest == 0) continue;
    HWY_ALIGN float lanes[hn::MaxLanes(d)] = {};
    const auto first = [rest](const T* from) HWY_ATTR { return loadFirstFloats(from, rest); };
    sumPixels<1>(x + c, some, stride, factor, first, lanes);
    for (std::int64_t i = 0; i < rest; ++i) mean[c + i] += lanes[i];
  }
}

// The sum of `count` neighbours, times `factor`.
template <class T>
float sumRun(const T* x, std::int64_t count, float factor) {
  const F32 d;
  constexpr std::int64_t kLanes = hn::MaxLanes(d);
  const auto whole = [d](const T* from) HWY_ATTR { return loadFloats(d, from); };
  HWY_ALIGN float lanes[hn::MaxLanes(d)] = {};
  sumPixels<1>(x, count / kLanes, kLanes, 1.0f, whole, lanes);
  float sum = 0;
  for (std::int64_t i = count / kLanes * kLanes; i < count; ++i) sum += loadFloat(x + i);
  return (sum + hn::GetLane(hn::SumOfLanes(d, hn::Load(d, lanes)))) * factor;
}

// Rows of x that are multiplied by the gates of their channels.
template <class From, class To>
struct ScaledRows {
  const From* x = nullptr;
  To* y = nullptr;
  std::int64_t rows = 0, stride = 0, y_stride = 0;
  const float* gate = nullptr;
};

// Scales the next kVectors vectors of D of all rows; gates stay in registers.
template <class D, int kVectors, class From, class To>
HWY_INLINE void scaleColumns(ScaledRows<From, To>* at) {
  const D d;
  constexpr std::int64_t kLanes = hn::MaxLanes(d);
  hn::Vec<D> gate[kVectors];
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) gate[v] = hn::LoadU(d, at->gate + v * kLanes);
  for (std::int64_t r = 0; r < at->rows; ++r) {
    const From* const x = at->x + r * at->stride;
    To* const y = at->y + r * at->y_stride;
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) storeFloats(d, hn::Mul(loadFloats(d, x + v * kLanes), gate[v]), y + v * kLanes);
  }
  at->x += kVectors * kLanes;
  at->y += kVectors * kLanes;
  at->gate += kVectors * kLanes;
}

// Scales all rows. The gates of narrow rows stay in registers through all of them; wide rows go one by one, in the
// order of memory.
template <class From, class To>
void scaleRows(const ScaledRows<From, To>& all, std::int64_t width) {
  constexpr std::int64_t kLanes = hn::MaxLanes(F32());
  const std::int64_t together = width <= 4 * kLanes ? all.rows : 1;
  for (std::int64_t r = 0; r < all.rows; r += together) {
    ScaledRows<From, To> at = all;
    at.x += r * all.stride;
    at.y += r * all.y_stride;
    at.rows = std::min(together, all.rows - r);
    std::int64_t rest = width;
    for (; rest >= 4 * kLanes; rest -= 4 * kLanes) scaleColumns<F32, 4>(&at);
    for (; rest >= 2 * kLanes; rest -= 2 * kLanes) scaleColumns<F32, 2>(&at);
    for (; rest >= kLanes; rest -= kLanes) scaleColumns<F32, 1>(&at);
    for (; rest >= 8; rest -= 8) scaleColumns<hn::CappedTag<float, 8>, 1>(&at);
    for (; rest >= 4; rest -= 4) scaleColumns<hn::CappedTag<float, 4>, 1>(&at);
    for (; rest > 0; --rest) scaleColumns<hn::CappedTag<float, 1>, 1>(&at);
  }
}

template <class From, class To>
void scaleRun(const From* x, float gate, std::int64_t count, To* y) {
  const F32 d;
  constexpr std::int64_t kLanes = hn::MaxLanes(d);
  const VF factor = hn::Set(d, gate);
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) storeFloats(d, hn::Mul(loadFloats(d, x + i), factor), y + i);
  for (; i < count; ++i) storeFloat(loadFloat(x + i) * gate, y + i);
}

}  // namespace ipex_studio::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
