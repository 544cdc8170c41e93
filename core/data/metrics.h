// Metric: what results are worth, summed up batch by batch.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/record/records.h"
#include "core/torch/torch_compat.h"

namespace ipex_studio {

enum class MetricKind {
  kTop1,
  kTop5,  // share of samples whose label has the greatest, one of the five greatest scores
  kMse,
  kCosine,
  kSqnr,  // against reference results: mean squared error, mean cosine per sample, dB over everything
  kUser,  // a TorchScript function metric(outputs, targets) -> number, averaged over the samples; more is better
};

// Not thread-safe.
class Metric {
 public:
  explicit Metric(MetricKind kind);
  // "top-1", "top-5", "mse", "cosine", "sqnr"; anything else is a path: source text with a function `metric`, or a saved
  // module with a method `metric`. Throws Error(kUsage) naming the choices, or with what is wrong in the file.
  static Metric fromName(const std::string& name);

  MetricKind kind() const { return kind_; }
  const char* name() const;
  bool higherIsBetter() const { return kind_ != MetricKind::kMse; }
  bool needsLabels() const { return kind_ == MetricKind::kTop1 || kind_ == MetricKind::kTop5; }
  // Reference results must be computed where the data holds none.
  bool needsResults() const {
    return kind_ == MetricKind::kMse || kind_ == MetricKind::kCosine || kind_ == MetricKind::kSqnr;
  }

  // The first `samples` rows of the first tensor in `outputs` against labels (kTop*) or reference results. Throws
  // Error(kUsage) when they do not fit together, or the user's function fails. Results that are NaN are wrong results.
  void add(const torch::jit::IValue& outputs, const at::Tensor& targets, std::int64_t samples);
  MetricRecord record() const;
  void clear();

 private:
  struct User;

  MetricKind kind_;
  std::shared_ptr<User> user_;
  double sum_ = 0;     // of what the kind adds up
  double signal_ = 0;  // kSqnr
  std::int64_t samples_ = 0, elements_ = 0;
};

// The first tensor of a result: itself, or the first in a tuple, list or dictionary. Throws Error(kUsage) without one.
at::Tensor firstTensor(const torch::jit::IValue& result);

}  // namespace ipex_studio
