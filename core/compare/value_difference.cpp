// Statistics of differences, and the element where they are greatest.
#include "core/compare/value_difference.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace ipex_studio {
namespace {

using torch::jit::IValue;

at::Tensor flatNumbers(const at::Tensor& tensor) {
  const at::Tensor plain = tensor.is_quantized() ? tensor.dequantize() : tensor;
  const at::Tensor real = plain.is_complex() ? at::view_as_real(plain.resolve_conj()) : plain;
  return real.to(at::kDouble).reshape({-1});
}

// The same values in the original's floating type, so that only values are judged.
IValue inTypesOf(const IValue& actual, const std::vector<at::Tensor>& expected) {
  std::size_t place = 0;
  return mapTensors(actual, [&](const at::Tensor& tensor) {
    const at::Tensor& like = expected[std::min(place++, expected.size() - 1)];
    const bool floats = at::isFloatingType(tensor.scalar_type()) && at::isFloatingType(like.scalar_type());
    return floats ? tensor.to(like.scalar_type()) : tensor;
  });
}

void fillPlaces(const at::Tensor& actual, const at::Tensor& expected, ValueDifference* difference) {
  if (!actual.sizes().equals(expected.sizes()) || expected.numel() == 0 || actual.is_complex() != expected.is_complex())
    return;
  const at::Tensor a = flatNumbers(actual), e = flatNumbers(expected);
  const at::Tensor a_finite = a.isfinite(), e_finite = e.isfinite();
  const at::IntArrayRef sizes = expected.sizes();
  difference->nans = a.numel() - a_finite.sum().item<std::int64_t>();
  difference->right_nans = e.numel() - e_finite.sum().item<std::int64_t>();
  const at::Tensor alone = a_finite.ne(e_finite);
  if (alone.any().item<bool>())
    difference->nan_place = placeText(sizes, alone.to(at::kByte).argmax().item<std::int64_t>());
  const at::Tensor distance = at::where(at::logical_and(a_finite, e_finite), (a - e).abs(), at::zeros_like(a));
  const auto worst = distance.argmax().item<std::int64_t>();
  if (distance[worst].item<double>() == 0) return;
  difference->place = placeText(sizes, worst);
  difference->value = a[worst].item<double>();
  difference->expected = e[worst].item<double>();
}

}  // namespace

std::string placeText(at::IntArrayRef sizes, std::int64_t index) {
  std::vector<std::int64_t> place(sizes.size());
  for (std::size_t axis = sizes.size(); axis-- > 0;) {
    const std::int64_t size = std::max<std::int64_t>(1, sizes[axis]);
    place[axis] = index % size;
    index /= size;
  }
  return fmt::format("[{}]", fmt::join(place, ", "));
}

ValueDifference differenceOf(const IValue& actual, const IValue& expected, const ValueTolerance& tolerance) {
  ValueDifference difference;
  const std::vector<at::Tensor> right = tensorsOf(expected);
  const IValue given = right.empty() ? actual : inTypesOf(actual, right);
  const auto records = compareOutputs(given, expected, nullptr, tolerance.rule);
  difference.accuracy = records.front();
  AccuracyRecord& accuracy = difference.accuracy;
  const bool floats = accuracy.pass && accuracy.sqnr_db < kSqnrOfEqual && tolerance.rule.precision == Precision::kFp32;
  if (floats && accuracy.max_rel > tolerance.share) {
    accuracy.pass = false;
    accuracy.text = fmt::format("max|Δ| {:.2e}; allowed {:.0e} · max|ref|", accuracy.max_abs, tolerance.share);
  }
  const std::vector<at::Tensor> now = tensorsOf(given);
  for (std::size_t t = 0; t < now.size() && now.size() == right.size() && difference.place.empty(); ++t) {
    const bool worst = records.size() < 2 || records[t + 1].max_abs == accuracy.max_abs || !records[t + 1].pass;
    if (worst) fillPlaces(now[t], right[t], &difference);
  }
  return difference;
}

}  // namespace ipex_studio
