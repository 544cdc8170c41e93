// Rotation of the heads of one token.
#define HWY_TARGET_INCLUDE "kernels/pointwise/rotary_simd.cpp"
#include "kernels/common/simd-inl.h"

#include <cstring>

#include "kernels/common/partial_vector-inl.h"
#include "kernels/pointwise/rotary.h"

HWY_BEFORE_NAMESPACE();
namespace ipex_studio::HWY_NAMESPACE {

HWY_INLINE void rotatePair(VF sine, VF cosine, VF* a, VF* b) {
  const VF first = *a;
  *a = hn::NegMulAdd(*b, sine, hn::Mul(first, cosine));
  *b = hn::MulAdd(first, sine, hn::Mul(*b, cosine));
}

// Of the pairs, the first values lie side by side, and the second ones behind them.
HWY_INLINE void rotateHalves(const float* sines, const float* cosines, float sign, const float* x, float* y,
                             std::int64_t pairs) {
  const F32 d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const VF s = hn::Set(d, sign);
  std::int64_t i = 0;
  for (; i + lanes <= pairs; i += lanes) {
    VF a = hn::LoadU(d, x + i), b = hn::LoadU(d, x + pairs + i);
    rotatePair(hn::Mul(s, hn::LoadU(d, sines + i)), hn::LoadU(d, cosines + i), &a, &b);
    hn::StoreU(a, d, y + i);
    hn::StoreU(b, d, y + pairs + i);
  }
  if (i == pairs) return;
  const std::int64_t left = pairs - i;
  VF a = loadFirst(x + i, left), b = loadFirst(x + pairs + i, left);
  rotatePair(hn::Mul(s, loadFirst(sines + i, left)), loadFirst(cosines + i, left), &a, &b);
  storeFirst(a, y + i, left);
  storeFirst(b, y + pairs + i, left);
}

HWY_INLINE void rotateNeighbors(const float* sines, const float* cosines, float sign, const float* x, float* y,
                                std::int64_t pairs) {
  const F32 d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const VF s = hn::Set(d, sign);
  std::int64_t i = 0;
  for (; i + lanes <= pairs; i += lanes) {
    VF a, b;
    hn::LoadInterleaved2(d, x + 2 * i, a, b);
    rotatePair(hn::Mul(s, hn::LoadU(d, sines + i)), hn::LoadU(d, cosines + i), &a, &b);
    hn::StoreInterleaved2(a, b, d, y + 2 * i);
  }
  for (; i < pairs; ++i) {
    const float a = x[2 * i], b = x[2 * i + 1], sine = sign * sines[i];
    y[2 * i] = a * cosines[i] - b * sine;
    y[2 * i + 1] = b * cosines[i] + a * sine;
  }
}

void runRotateToken(const RotaryJob<float>& job, const float* sines, const float* cosines, const float* x, float* y) {
  const std::int64_t pairs = job.rotated / 2, rest = job.width - job.rotated;
  const float sign = job.back ? -1.0f : 1.0f;
  for (std::int64_t head = 0; head < job.heads; ++head, x += job.head_stride, y += job.width) {
    if (job.interleaved) {
      rotateNeighbors(sines, cosines, sign, x, y, pairs);
    } else {
      rotateHalves(sines, cosines, sign, x, y, pairs);
    }
    if (x != y && rest > 0) {
      std::memcpy(y + job.rotated, x + job.rotated, static_cast<std::size_t>(rest) * sizeof(float));
    }
  }
}

}  // namespace ipex_studio::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace ipex_studio {

HWY_EXPORT(runRotateToken);

RotateToken<float> rotateTokenSimd(const std::string& isa) { return IPEX_SELECT_TARGET(runRotateToken, isa); }

}  // namespace ipex_studio

#endif  // HWY_ONCE
