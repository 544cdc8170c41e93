// Non-maximum suppression against the boxes that stay, which are the lanes of vectors.
//
// 64 boxes at a time, by descending score: threads look each up among the boxes that stay so far and stop at the first
// that lets it fall, which leaves a mask; those left are then decided one after the other. Rounding is that of
// torchvision: products are not fused with sums (kernels/CMakeLists.txt).
#define HWY_TARGET_INCLUDE "kernels/vision/nms_simd.cpp"
#include "kernels/common/simd-inl.h"

#include <algorithm>

#include "kernels/vision/nms_boxes.h"

HWY_BEFORE_NAMESPACE();
namespace ipex_studio::HWY_NAMESPACE {

// True if one of the boxes [begin, end) lets the box fall. Behind `end` there are boxes without a number as area.
template <typename T>
bool fallsBefore(const NmsBoxes<T>& kept, std::int64_t begin, std::int64_t end, const NmsBox<T>& box, T threshold) {
  const hn::ScalableTag<T> d;
  const auto zero = hn::Zero(d), limit = hn::Set(d, threshold), area = hn::Set(d, box.area);
  const auto left = hn::Set(d, box.x1), top = hn::Set(d, box.y1), right = hn::Set(d, box.x2), low = hn::Set(d, box.y2);
  const bool apart_stays = threshold >= 0;  // boxes that do not meet have an intersection of 0, or NaN
  for (std::int64_t k = begin; k < end; k += static_cast<std::int64_t>(hn::Lanes(d))) {
    const auto width = hn::Sub(hn::Min(hn::LoadU(d, &kept.x2[k]), right), hn::Max(hn::LoadU(d, &kept.x1[k]), left));
    const auto height = hn::Sub(hn::Min(hn::LoadU(d, &kept.y2[k]), low), hn::Max(hn::LoadU(d, &kept.y1[k]), top));
    if (apart_stays && hn::AllFalse(d, hn::And(hn::Gt(width, zero), hn::Gt(height, zero)))) continue;
    const auto both = hn::Mul(hn::Max(zero, width), hn::Max(zero, height));
    const auto all = hn::Sub(hn::Add(hn::LoadU(d, &kept.area[k]), area), both);
    if (!hn::AllFalse(d, hn::Gt(hn::Div(both, all), limit))) return true;
  }
  return false;
}

bool fallsBeforeF32(const NmsBoxes<float>& kept, std::int64_t begin, std::int64_t end, const NmsBox<float>& box,
                    float threshold) {
  return fallsBefore(kept, begin, end, box, threshold);
}

bool fallsBeforeF64(const NmsBoxes<double>& kept, std::int64_t begin, std::int64_t end, const NmsBox<double>& box,
                    double threshold) {
  return fallsBefore(kept, begin, end, box, threshold);
}

}  // namespace ipex_studio::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "kernels/common/parallel.h"
#include "kernels/vision/nms.h"

namespace ipex_studio {
namespace {

HWY_EXPORT(fallsBeforeF32);
HWY_EXPORT(fallsBeforeF64);

constexpr std::int64_t kBlock = 64;

template <typename T>
auto selectFallsBefore(const std::string& isa) {
  if constexpr (std::is_same_v<T, float>) {
    return IPEX_SELECT_TARGET(fallsBeforeF32, isa);
  } else {
    return IPEX_SELECT_TARGET(fallsBeforeF64, isa);
  }
}

// A number that is less for a greater score and least for NaN; equal for equal scores.
template <typename T>
auto descendingKey(T score) {
  using Bits = std::conditional_t<std::is_same_v<T, float>, std::uint32_t, std::uint64_t>;
  constexpr Bits kSign = Bits{1} << (8 * sizeof(Bits) - 1);
  if (std::isnan(score)) return Bits{0};
  score += T{0};  // -0 becomes 0
  Bits bits;
  std::memcpy(&bits, &score, sizeof bits);
  return (bits & kSign) != 0 ? bits : static_cast<Bits>(~(bits | kSign));
}

template <typename Key>
struct Ranked {
  Key key;
  std::int32_t place;
};

// One round of a radix sort: by the digit at `shift`, equal ones in their order.
template <typename Key>
void sortByDigit(const std::vector<Ranked<Key>>& from, int shift, std::vector<Ranked<Key>>* to) {
  constexpr std::size_t kDigits = 2048;
  std::array<std::size_t, kDigits> next{};
  const auto digit = [&](const Ranked<Key>& one) { return static_cast<std::size_t>(one.key >> shift) % kDigits; };
  for (const auto& one : from) ++next[digit(one)];
  std::size_t sum = 0;
  for (std::size_t& count : next) sum += std::exchange(count, sum);
  for (const auto& one : from) (*to)[next[digit(one)]++] = one;
}

// Places of all boxes by descending scores.
template <typename T>
auto orderByScore(const T* scores, std::int64_t count) {
  using Key = decltype(descendingKey(T{}));
  std::vector<Ranked<Key>> order(static_cast<std::size_t>(count)), other(order.size());
  for (std::int64_t i = 0; i < count; ++i) order[i] = {descendingKey(scores[i]), static_cast<std::int32_t>(i)};
  for (int shift = 0; shift < static_cast<int>(8 * sizeof(Key)); shift += 11) {
    sortByDigit(order, shift, &other);
    order.swap(other);
  }
  return order;
}

template <typename T>
NmsBox<T> readBox(const T* at) {
  return {at[0], at[1], at[2], at[3], (at[2] - at[0]) * (at[3] - at[1])};
}

// The greatest T that is not above the threshold: no T lies between the two.
template <typename T>
T thresholdIn(double threshold) {
  const T near = static_cast<T>(threshold);
  return static_cast<double>(near) > threshold ? std::nextafter(near, -std::numeric_limits<T>::infinity()) : near;
}

}  // namespace

template <typename T>
std::vector<std::int64_t> nms(const NmsJob& job, const T* boxes, const T* scores) {
  const auto order = orderByScore(scores, job.count);
  const auto falls = selectFallsBefore<T>(job.isa);
  const T threshold = thresholdIn<T>(job.threshold);
  NmsBoxes<T> kept(job.count);
  std::vector<std::int64_t> places;
  for (std::int64_t block = 0; block < job.count; block += kBlock) {
    const std::int64_t count = std::min(kBlock, job.count - block), before = kept.count;
    std::array<bool, kBlock> fallen{};
    parallelFor(count, grainFor(before + 1), job.threads, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t i = begin; i < end; ++i)
        fallen[i] = falls(kept, 0, before, readBox(boxes + 4 * order[block + i].place), threshold);
    });
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t place = order[block + i].place;
      const NmsBox<T> box = readBox(boxes + 4 * place);
      if (fallen[i] || falls(kept, before, kept.count, box, threshold)) continue;
      kept.add(box);
      places.push_back(place);
    }
  }
  return places;
}

template std::vector<std::int64_t> nms(const NmsJob&, const float*, const float*);
template std::vector<std::int64_t> nms(const NmsJob&, const double*, const double*);

}  // namespace ipex_studio

#endif  // HWY_ONCE
