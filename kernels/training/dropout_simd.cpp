// A vector of counters at a time, one in each 64 bits, where products of words have room.
#define HWY_TARGET_INCLUDE "kernels/training/dropout_simd.cpp"
#include "kernels/common/simd-inl.h"

#include <algorithm>

#include "kernels/training/dropout.h"
#include "kernels/training/elements-inl.h"
#include "kernels/training/philox.h"

HWY_BEFORE_NAMESPACE();
namespace ipex_studio::HWY_NAMESPACE {

// Counters whose words are made before they are used.
constexpr std::int64_t kDropCounters = 64, kDropBlock = 4 * kDropCounters;

#if HWY_TARGET != HWY_SCALAR

// The words of kDropCounters counters from `first` on. Above the lower half of 64 bits there may be anything.
HWY_INLINE void drawDropWords(std::uint64_t seed, std::uint64_t first, std::uint32_t* words) {
  const hn::ScalableTag<std::uint64_t> d;
  const hn::Repartition<std::uint32_t, decltype(d)> halves;
  using V = hn::Vec<decltype(d)>;
  const auto multiply = [&](V words64, std::uint32_t factor)
                            HWY_ATTR { return hn::MulEven(hn::BitCast(halves, words64), hn::Set(halves, factor)); };
  const V lower = hn::Set(d, 0xffffffffu);
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t i = 0; i < kDropCounters; i += lanes) {
    V c0 = hn::Add(hn::Set(d, first + static_cast<std::uint64_t>(i)), hn::Iota(d, 0));
    V c1 = hn::ShiftRight<32>(c0), c2 = hn::Zero(d), c3 = hn::Zero(d);
    auto k0 = static_cast<std::uint32_t>(seed), k1 = static_cast<std::uint32_t>(seed >> 32u);
    for (int round = 0; round < kPhiloxRounds; ++round) {
      const V a = multiply(c0, kPhiloxFactors[0]), b = multiply(c2, kPhiloxFactors[1]);
      c0 = hn::Xor(hn::Xor(hn::ShiftRight<32>(b), c1), hn::Set(d, k0));
      c2 = hn::Xor(hn::Xor(hn::ShiftRight<32>(a), c3), hn::Set(d, k1));
      c1 = b;
      c3 = a;
      k0 += kPhiloxKeySteps[0];
      k1 += kPhiloxKeySteps[1];
    }
    const V front = hn::Or(hn::And(c0, lower), hn::ShiftLeft<32>(c1));
    const V back = hn::Or(hn::And(c2, lower), hn::ShiftLeft<32>(c3));
    hn::StoreInterleaved2(front, back, d, reinterpret_cast<std::uint64_t*>(words + 4 * i));
  }
}

#else

HWY_INLINE void drawDropWords(std::uint64_t seed, std::uint64_t first, std::uint32_t* words) {
  for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(kDropCounters); ++i)
    philoxWords(seed, first + i, words + 4 * i);
}

#endif

// Elements [begin, end); begin is a multiple of kDropBlock. Words below `threshold` drop theirs.
template <typename T>
HWY_INLINE void dropFrom(std::uint64_t seed, std::uint32_t threshold, float scale, const T* x, std::int64_t begin,
                         std::int64_t end, T* y) {
  HWY_ALIGN std::uint32_t words[kDropBlock];
  const hn::ScalableTag<float> d;
  const hn::Rebind<std::uint32_t, decltype(d)> integers;
  const hn::RebindToSigned<decltype(integers)> ordered;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  // Comparisons are of signed numbers, in the order of words with their first bit turned over.
  const auto turn = hn::Set(integers, 0x80000000u);
  const auto least = hn::BitCast(ordered, hn::Xor(hn::Set(integers, threshold), turn));
  const auto kept = hn::Set(d, scale);
  for (std::int64_t block = begin; block < end; block += kDropBlock) {
    drawDropWords(seed, static_cast<std::uint64_t>(block / 4), words);
    const std::int64_t count = std::min(kDropBlock, end - block);
    const auto drop = [&](std::int64_t at, std::int64_t part) HWY_ATTR {
      const auto word = hn::BitCast(ordered, hn::Xor(hn::Load(integers, words + at), turn));
      const auto factor = hn::IfThenZeroElse(hn::RebindMask(d, hn::Lt(word, least)), kept);
      storeElements(hn::Mul(loadElements(x + block + at, part), factor), y + block + at, part);
    };
    std::int64_t i = 0;
    for (; i + lanes <= count; i += lanes) {
      drop(i, lanes);
    }
    if (i < count) drop(i, count - i);
  }
}

void runDropout(std::uint64_t seed, std::uint32_t threshold, float scale, const float* x, std::int64_t begin,
                std::int64_t end, float* y) {
  dropFrom(seed, threshold, scale, x, begin, end, y);
}

void runDropoutBf16(std::uint64_t seed, std::uint32_t threshold, float scale, const Bf16* x, std::int64_t begin,
                    std::int64_t end, Bf16* y) {
  dropFrom(seed, threshold, scale, x, begin, end, y);
}

}  // namespace ipex_studio::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <cmath>

#include "kernels/common/parallel.h"

namespace ipex_studio {
namespace {

HWY_EXPORT(runDropout);
HWY_EXPORT(runDropoutBf16);

template <typename Run, typename T>
void shareElements(const DropoutJob& job, const Run& run, const T* x, T* y) {
  constexpr std::int64_t kBlock = 256, kOps = 4;  // elements, and operations for each
  constexpr double kWords = 4294967296.0;
  const bool all = job.p >= 1;
  const auto threshold = static_cast<std::uint32_t>(std::min(std::ceil(job.p * kWords), kWords - 1));
  const float scale = all ? 0.0f : static_cast<float>(1 / (1 - job.p));
  parallelFor((job.count + kBlock - 1) / kBlock, grainFor(kOps * kBlock), job.threads,
              [&](std::int64_t begin, std::int64_t end, int) {
                run(job.seed, threshold, scale, x, begin * kBlock, std::min(end * kBlock, job.count), y);
              });
}

}  // namespace

void dropElements(const DropoutJob& job, const float* x, float* y) {
  shareElements(job, IPEX_SELECT_TARGET(runDropout, job.isa), x, y);
}

void dropElements(const DropoutJob& job, const Bf16* x, Bf16* y) {
  shareElements(job, IPEX_SELECT_TARGET(runDropoutBf16, job.isa), x, y);
}

}  // namespace ipex_studio

#endif  // HWY_ONCE
