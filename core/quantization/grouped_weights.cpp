// Scales per group and per row, with a search for the least squared error.
#include "core/quantization/grouped_weights.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/base/error.h"

namespace ipex_studio {
namespace {

constexpr float kGroupClips[] = {1.0f, 0.95f, 0.9f, 0.85f, 0.8f, 0.75f};
constexpr float kNoWeight = 1e-30f;

// Rounds to nearest even, in a form that compilers vectorize.
inline float wholeLevel(float number, float low, float high) {
  constexpr float kMagic = 12582912.0f;  // 1.5 · 2^23
  const float bounded = std::min(std::max(number, low - 1), high + 1);
  return std::min(std::max((bounded + kMagic) - kMagic, low), high);
}

// Whole numbers from `low` to `high`; `zero` is stored for 0.
struct WholeLevels {
  float low = 0, high = 0;
  std::int32_t zero = 0;

  float nearest(float number) const { return wholeLevel(number, low, high); }
  // The integer that is stored for the level next to `number`.
  std::int32_t stored(float number) const { return static_cast<std::int32_t>(nearest(number)) + zero; }
};

// Sixteen levels in rising order, from -1 to 1.
struct ListedLevels {
  const NibbleLevels& levels;
  float low = -1, high = 1;

  std::int32_t stored(float number) const {
    std::int32_t place = 0;
    for (std::size_t i = 1; i < levels.size(); ++i) place += number > (levels[i - 1] + levels[i]) / 2 ? 1 : 0;
    return place;
  }
  float nearest(float number) const { return levels[static_cast<std::size_t>(stored(number))]; }
};

template <class Levels>
float groupError(const float* weights, std::int64_t count, float scale, const Levels& levels) {
  const float inverse = 1 / scale;
  float error = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const float delta = levels.nearest(weights[i] * inverse) * scale - weights[i];
    error += delta * delta;
  }
  return error;
}

template <class Levels>
float groupScale(const float* weights, std::int64_t count, const Levels& levels) {
  const float low = levels.low, high = levels.high;
  float furthest = 0;
  for (std::int64_t i = 0; i < count; ++i)
    furthest = std::fabs(weights[i]) > std::fabs(furthest) ? weights[i] : furthest;
  if (!(std::fabs(furthest) > kNoWeight)) return 1;
  float best = std::fabs(furthest) / high, least = groupError(weights, count, best, levels);
  const auto consider = [&](float scale) {
    const float error = groupError(weights, count, scale, levels);
    if (error < least) {
      least = error;
      best = scale;
    }
  };
  for (const float clip : kGroupClips) {
    consider(std::fabs(furthest) * clip / high);
    if (-low > high) consider(furthest * clip / low);
  }
  return best;
}

// Fills `result`, whose nibbles hold kNibbleZero.
template <class Levels>
void quantizeTo(const at::Tensor& weights, std::int64_t group, bool four, const Levels& levels,
                GroupedWeights* result) {
  const std::int64_t rows = weights.size(0), depth = weights.size(1), groups = groupCount(depth, group);
  const float* const values = weights.data_ptr<float>();
  auto* const bytes = static_cast<std::uint8_t*>(result->integers.data_ptr());
  float* const scales = result->scales.data_ptr<float>();
  const std::int64_t row_bytes = result->integers.size(1);
  at::parallel_for(0, rows, 16, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t n = begin; n < end; ++n) {
      for (std::int64_t g = 0; g < groups; ++g) {
        const std::int64_t first = g * group, last = std::min(first + group, depth);
        const float* const row = values + n * depth;
        const float scale = groupScale(row + first, last - first, levels), inverse = 1 / scale;
        scales[n * groups + g] = scale;
        for (std::int64_t k = first; k < last; ++k) {
          const std::int32_t stored = levels.stored(row[k] * inverse);
          if (!four) {
            bytes[n * row_bytes + k] = static_cast<std::uint8_t>(static_cast<std::int8_t>(stored));
            continue;
          }
          std::uint8_t& byte = bytes[n * row_bytes + nibbleByte(k)];
          const auto nibble = static_cast<std::uint32_t>(stored);
          byte = static_cast<std::uint8_t>(nibbleIsHigh(k) ? (byte & 0x0Fu) | nibble << 4u : (byte & 0xF0u) | nibble);
        }
      }
    }
  });
}

}  // namespace

GroupedWeights quantizeGroups(const at::Tensor& weights, int bits, std::int64_t group, const NibbleLevels& levels) {
  IPEX_CHECK(weights.dim() == 2 && (bits == 8 || bits == 4) && group > 0 && group % kNibbleBlock == 0,
             "groups of weights in 8 or 4 bits");
  const at::Tensor plain = weights.detach().to(at::kFloat).contiguous();
  const std::int64_t rows = plain.size(0), depth = plain.size(1);
  const bool four = bits == 4;
  GroupedWeights result;
  result.integers = four ? at::full({rows, nibbleRowBytes(depth)}, kNibbleZero * 16 + kNibbleZero, at::kByte)
                         : at::empty({rows, depth}, at::kChar);
  result.scales = at::empty({rows, groupCount(depth, group)}, at::kFloat);
  if (four && &levels != &kEvenLevels) {
    quantizeTo(plain, group, four, ListedLevels{levels}, &result);
  } else {
    quantizeTo(plain, group, four, four ? WholeLevels{-8, 7, kNibbleZero} : WholeLevels{-127, 127, 0}, &result);
  }
  return result;
}

at::Tensor quantizeRows(const at::Tensor& table) {
  IPEX_CHECK(table.dim() == 2, "a table has rows");
  const at::Tensor plain = table.detach().to(at::kFloat).contiguous();
  const std::int64_t rows = plain.size(0), width = plain.size(1), row_bytes = width + kRowParameterBytes;
  const at::Tensor result = at::empty({rows, row_bytes}, at::kByte);
  const float* const values = plain.data_ptr<float>();
  auto* const bytes = result.data_ptr<std::uint8_t>();
  at::parallel_for(0, rows, 256, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t v = begin; v < end; ++v) {
      const float* const row = values + v * width;
      const auto [least, greatest] = std::minmax_element(row, row + width);
      const float offset = *least, range = *greatest - *least, scale = range > kNoWeight ? range / 255 : 1;
      std::uint8_t* const to = bytes + v * row_bytes;
      for (std::int64_t e = 0; e < width; ++e)
        to[e] = static_cast<std::uint8_t>(wholeLevel((row[e] - offset) * (1 / scale), 0, 255));
      std::memcpy(to + width, &scale, sizeof scale);
      std::memcpy(to + width + sizeof scale, &offset, sizeof offset);
    }
  });
  return result;
}

}  // namespace ipex_studio
