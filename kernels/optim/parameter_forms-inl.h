// Parameters and gradients of any form as blocks of floats, which the rules take, once per Highway target.
#if defined(IPEX_KERNELS_PARAMETER_FORMS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef IPEX_KERNELS_PARAMETER_FORMS_INL_H
#undef IPEX_KERNELS_PARAMETER_FORMS_INL_H
#else
#define IPEX_KERNELS_PARAMETER_FORMS_INL_H
#endif

#include <algorithm>
#include <cstring>

#include "kernels/common/bf16-inl.h"
#include "kernels/common/f16-inl.h"
#include "kernels/common/simd-inl.h"
#include "kernels/optim/update_chunk.h"

HWY_BEFORE_NAMESPACE();
namespace ipex_studio::HWY_NAMESPACE {

// Elements of a block: what is copied stays in the first cache.
constexpr std::size_t kFormBlock = 512;

struct FloatChunk {
  float* parameter = nullptr;
  const float* gradient = nullptr;
  std::array<float*, kMaxStates> states{};
  std::size_t count = 0;
};

HWY_INLINE bool isSplit(ParameterForm form) {
  return form == ParameterForm::kSplit || form == ParameterForm::kSplitRounded;
}

inline std::uint32_t joinedBits(std::uint16_t upper, std::uint16_t lower, bool rounded) {
  const std::uint32_t low = rounded ? static_cast<std::uint32_t>(static_cast<std::int16_t>(lower)) : lower;
  return (std::uint32_t{upper} << 16u) + low;
}

// Words are handled as integers: `rounded` halves carry into the upper ones.
inline void joinHalves(const std::uint16_t* upper, const std::uint16_t* lower, bool rounded, float* to,
                       std::size_t count) {
  const hn::ScalableTag<std::uint32_t> d;
  const hn::Rebind<std::uint16_t, decltype(d)> halves;
  const auto sign = hn::Set(d, rounded ? 0x8000u : 0u);
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto top = hn::ShiftLeft<16>(hn::PromoteTo(d, hn::LoadU(halves, upper + i)));
    const auto low = hn::PromoteTo(d, hn::LoadU(halves, lower + i));
    const auto extended = hn::Sub(hn::Xor(low, sign), sign);  // of a signed number, its sign goes through all bits
    hn::StoreU(hn::BitCast(F32(), hn::Add(top, extended)), F32(), to + i);
  }
  for (; i < count; ++i) {
    const std::uint32_t bits = joinedBits(upper[i], lower[i], rounded);
    std::memcpy(to + i, &bits, sizeof(bits));
  }
}

inline void splitHalves(const float* from, bool rounded, std::uint16_t* upper, std::uint16_t* lower,
                        std::size_t count) {
  const hn::ScalableTag<std::uint32_t> d;
  const hn::RebindToSigned<decltype(d)> words;
  const hn::Rebind<std::uint16_t, decltype(d)> halves;
  const std::uint32_t half = rounded ? 0x8000u : 0u;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto bits = hn::BitCast(d, hn::LoadU(F32(), from + i));
    const auto top = hn::ShiftRight<16>(hn::Add(bits, hn::Set(d, half)));
    const auto low = hn::And(bits, hn::Set(d, 0xffffu));
    hn::StoreU(hn::DemoteTo(halves, hn::BitCast(words, top)), halves, upper + i);
    hn::StoreU(hn::DemoteTo(halves, hn::BitCast(words, low)), halves, lower + i);
  }
  for (; i < count; ++i) {
    std::uint32_t bits;
    std::memcpy(&bits, from + i, sizeof(bits));
    upper[i] = static_cast<std::uint16_t>((bits + half) >> 16u);
    lower[i] = static_cast<std::uint16_t>(bits);
  }
}

// True if the rules can work where parameter and gradient are.
HWY_INLINE bool liesAsFloats(const UpdateChunk& chunk) {
  return chunk.form == ParameterForm::kSingle && chunk.gradient_dtype == DType::kF32;
}

HWY_INLINE FloatChunk floatsOf(const UpdateChunk& chunk) {
  return {chunk.parameter, static_cast<const float*>(chunk.gradient), chunk.states, chunk.count};
}

inline void readGradient(const UpdateChunk& chunk, float* to) {
  const auto* halves = static_cast<const std::uint16_t*>(chunk.gradient);
  if (chunk.gradient_dtype == DType::kBf16) return upconvertBf16(halves, to, chunk.count);
  upconvertF16(halves, to, chunk.count);
}

inline void writeHalves(const UpdateChunk& chunk, const float* parameter) {
  switch (chunk.form) {
    case ParameterForm::kSingle:
      return;
    case ParameterForm::kSplit:
    case ParameterForm::kSplitRounded:
      return splitHalves(parameter, chunk.form == ParameterForm::kSplitRounded, chunk.half, chunk.lower, chunk.count);
    case ParameterForm::kBf16Copy:
      return downconvertToBf16(parameter, chunk.half, chunk.count);
    case ParameterForm::kF16Copy:
      return downconvertToF16(parameter, chunk.half, chunk.count);
  }
}

// Calls fn(FloatChunk) for blocks of at most kFormBlock elements: floats where they are, others by way of copies.
// `writes`: fn changes parameters.
template <class Fn>
HWY_INLINE void forEachBlock(const UpdateChunk& chunk, bool writes, const Fn& fn) {
  float parameters[kFormBlock], gradients[kFormBlock];
  for (std::size_t i = 0; i < chunk.count; i += kFormBlock) {
    const UpdateChunk part = partOf(chunk, i, std::min(kFormBlock, chunk.count - i));
    FloatChunk block = floatsOf(part);
    if (isSplit(part.form)) {
      joinHalves(part.half, part.lower, part.form == ParameterForm::kSplitRounded, parameters, part.count);
      block.parameter = parameters;
    }
    if (part.gradient_dtype != DType::kF32) {
      readGradient(part, gradients);
      block.gradient = gradients;
    }
    fn(block);
    if (writes) writeHalves(part, block.parameter);
  }
}

}  // namespace ipex_studio::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
