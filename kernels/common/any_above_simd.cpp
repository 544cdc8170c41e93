// Reads a block at a time, so that a first value above the limit ends the search early.
#define HWY_TARGET_INCLUDE "kernels/common/any_above_simd.cpp"
#include "kernels/common/simd-inl.h"

#include <algorithm>

HWY_BEFORE_NAMESPACE();
namespace ipex_studio::HWY_NAMESPACE {

template <class Bits>
bool anyBitsAbove(const Bits* bits, std::int64_t count, Bits limit) {
  const hn::ScalableTag<Bits> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  constexpr auto kMagnitude = static_cast<Bits>(~(Bits{1} << (8 * sizeof(Bits) - 1)));
  constexpr std::int64_t kBlock = 1 << 14;
  const auto magnitude = hn::Set(d, kMagnitude);
  for (std::int64_t i = 0; i < count;) {
    const std::int64_t end = std::min(count, i + kBlock);
    // Four maxima, so that none waits for the one before.
    auto a = hn::Zero(d), b = a, c = a, e = a;
    for (; i + 4 * lanes <= end; i += 4 * lanes) {
      a = hn::Max(a, hn::And(hn::LoadU(d, bits + i), magnitude));
      b = hn::Max(b, hn::And(hn::LoadU(d, bits + i + lanes), magnitude));
      c = hn::Max(c, hn::And(hn::LoadU(d, bits + i + 2 * lanes), magnitude));
      e = hn::Max(e, hn::And(hn::LoadU(d, bits + i + 3 * lanes), magnitude));
    }
    for (; i + lanes <= end; i += lanes) a = hn::Max(a, hn::And(hn::LoadU(d, bits + i), magnitude));
    Bits rest = 0;
    for (; i < end; ++i) rest = std::max(rest, static_cast<Bits>(bits[i] & kMagnitude));
    const auto largest = hn::Max(hn::Max(a, b), hn::Max(c, e));
    if (rest > limit || !hn::AllTrue(d, hn::Eq(hn::Min(largest, hn::Set(d, limit)), largest))) return true;
  }
  return false;
}

bool anyAbove(const void* data, std::int64_t count, std::size_t element_bytes, std::uint32_t limit) {
  if (element_bytes == sizeof(std::uint32_t))
    return anyBitsAbove(static_cast<const std::uint32_t*>(data), count, limit);
  return anyBitsAbove(static_cast<const std::uint16_t*>(data), count, static_cast<std::uint16_t>(limit));
}

}  // namespace ipex_studio::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "kernels/common/any_above.h"

namespace ipex_studio {

HWY_EXPORT(anyAbove);

AnyAbove anyAboveFor(const std::string& isa) { return IPEX_SELECT_TARGET(anyAbove, isa); }

}  // namespace ipex_studio
#endif
