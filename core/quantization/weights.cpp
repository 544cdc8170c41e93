// Quantization of weights per channel, recognition of rounded weights, and corrections.
#include "core/quantization/weights.h"

#include <algorithm>
#include <cmath>

namespace ipex_studio {
namespace {

constexpr float kClips[] = {1.0f, 0.96f, 0.92f, 0.88f, 0.84f, 0.8f, 0.75f};

// Rounds to nearest even for magnitudes below 2^22, in a form that compilers vectorize.
inline float rounded(float value) {
  constexpr float kMagic = 12582912.0f;  // 1.5 · 2^23
  return (value + kMagic) - kMagic;
}

float absmaxOf(const float* row, std::int64_t count) {
  float absmax = 0;
  for (std::int64_t i = 0; i < count; ++i) absmax = std::max(absmax, std::fabs(row[i]));
  return absmax;
}

float squaredError(const float* row, std::int64_t count, float scale, float limit) {
  const float inverse = 1 / scale;
  float error = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const float level = std::min(std::max(rounded(row[i] * inverse), -limit), limit);
    const float delta = level * scale - row[i];
    error += delta * delta;
  }
  return error;
}

float bestScale(const float* row, std::int64_t count, float limit) {
  const float absmax = absmaxOf(row, count);
  if (!(absmax > 1e-30f)) return 1;
  float best = absmax / limit, least = -1;
  for (const float clip : kClips) {
    const float scale = absmax * clip / limit;
    const float error = squaredError(row, count, scale, limit);
    if (least < 0 || error < least) {
      least = error;
      best = scale;
    }
  }
  return best;
}

// True if all weights are multiples of `scale` within -128 … 127.
bool onGrid(const float* row, std::int64_t count, float scale) {
  constexpr float kTolerance = 1e-3f;
  const float inverse = 1 / scale;
  for (std::int64_t i = 0; i < count; ++i) {
    const float value = row[i] * inverse, level = rounded(value);
    if (!(std::fabs(value - level) <= kTolerance) || level < -128 || level > 127) return false;
  }
  return true;
}

// The largest scale of whose multiples the row consists; 0 if there is none.
float gridScale(const float* row, std::int64_t count) {
  const float absmax = absmaxOf(row, count);
  if (!std::isfinite(absmax)) return 0;
  if (!(absmax > 1e-30f)) return onGrid(row, count, 1) ? 1 : 0;  // false if all are NaN
  for (int levels = 1; levels <= 128; ++levels) {
    const float scale = absmax / static_cast<float>(levels);
    if (onGrid(row, count, scale)) return scale;
  }
  return 0;
}

}  // namespace

QuantizedWeights quantizeWeights(const at::Tensor& weights, int bits) {
  const at::Tensor plain = weights.detach().to(at::kFloat).contiguous();
  const float limit = bits >= 8 ? 127.0f : 63.0f;
  const std::int64_t channels = plain.size(0), count = plain.numel() / std::max<std::int64_t>(channels, 1);
  QuantizedWeights result{at::empty(plain.sizes(), at::kChar), at::empty({channels}, at::kFloat)};
  const auto* values = plain.data_ptr<float>();
  auto* integers = result.integers.data_ptr<std::int8_t>();
  auto* scales = result.scales.data_ptr<float>();
  for (std::int64_t c = 0; c < channels; ++c) {
    const float* row = values + c * count;
    const float scale = bestScale(row, count, limit), inverse = 1 / scale;
    scales[c] = scale;
    for (std::int64_t i = 0; i < count; ++i) {
      integers[c * count + i] = static_cast<std::int8_t>(std::min(std::max(rounded(row[i] * inverse), -limit), limit));
    }
  }
  return result;
}

std::optional<QuantizedWeights> weightsOnGrid(const at::Tensor& weights) {
  const at::Tensor plain = weights.detach().to(at::kFloat).contiguous();
  const std::int64_t channels = plain.size(0), count = plain.numel() / std::max<std::int64_t>(channels, 1);
  QuantizedWeights result{at::empty(plain.sizes(), at::kChar), at::empty({channels}, at::kFloat)};
  const auto* values = plain.data_ptr<float>();
  auto* integers = result.integers.data_ptr<std::int8_t>();
  for (std::int64_t c = 0; c < channels; ++c) {
    const float* row = values + c * count;
    const float scale = gridScale(row, count);
    if (!(scale > 0)) return std::nullopt;
    result.scales.data_ptr<float>()[c] = scale;
    for (std::int64_t i = 0; i < count; ++i)
      integers[c * count + i] = static_cast<std::int8_t>(rounded(row[i] / scale));
  }
  return result;
}

at::Tensor biasShift(const at::Tensor& weights, const QuantizedWeights& quantized, const std::vector<double>& means,
                     std::int64_t groups) {
  const std::int64_t channels = weights.size(0), inputs = weights.size(1);
  if (groups < 1 || channels % groups != 0 || static_cast<std::int64_t>(means.size()) != inputs * groups) return {};
  std::vector<std::int64_t> along(static_cast<std::size_t>(weights.dim()), 1);
  along[0] = channels;
  const at::Tensor restored = quantized.integers.to(at::kDouble) * quantized.scales.to(at::kDouble).reshape(along);
  const at::Tensor delta =
      (weights.detach().to(at::kDouble) - restored).reshape({channels, inputs, -1}).sum(-1);  // [O, C/g]
  const at::Tensor mean =
      at::tensor(means, at::kDouble).reshape({groups, 1, inputs}).expand({groups, channels / groups, inputs});
  return (delta * mean.reshape({channels, inputs})).sum(-1);
}

std::vector<double> smoothingFactors(const std::vector<double>& input_absmax, const std::vector<at::Tensor>& weights,
                                     double alpha) {
  const auto channels = static_cast<std::int64_t>(input_absmax.size());
  at::Tensor largest = at::zeros({channels}, at::kDouble);
  for (const at::Tensor& weight : weights) {
    if (weight.dim() != 2 || weight.size(1) != channels) return {};
    largest = at::maximum(largest, weight.detach().to(at::kDouble).abs().amax(0));
  }
  std::vector<double> factors;
  for (std::int64_t c = 0; c < channels; ++c) {
    const double x = input_absmax[static_cast<std::size_t>(c)], w = largest[c].item<double>();
    const bool usable = x > 1e-12 && w > 1e-12;
    factors.push_back(usable ? std::clamp(std::pow(x, alpha) / std::pow(w, 1 - alpha), 1e-4, 1e4) : 1);
  }
  return factors;
}

}  // namespace ipex_studio
