// Metric: a score of results, summed up batch by batch.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/record/records.h"
#include "core/torch/torch_compat.h"

namespace ipex_studio {

enum class MetricKind {
  kTop1,    // share of samples whose label has the greatest score, 0..1
  kTop5,    // share of samples whose label has one of the five greatest scores, 0..1
  kMse,     // mean squared error against reference results
  kCosine,  // mean cosine per sample against reference results
  kSqnr,    // 10·log10(Σref² / ΣΔ²) over all samples, dB
  kUser,    // a TorchScript function metric(outputs, targets) -> number, averaged over the samples; more is better
};

// One running metric. Not thread-safe.
class Metric {
 public:
  explicit Metric(MetricKind kind);  // any kind but kUser, which fromName() makes
  // Takes "top-1", "top-5", "mse", "cosine", "sqnr"; anything else is a path: source text with a function `metric`, or
  // a saved module with a method `metric`. Throws Error(kUsage) naming the choices, or the fault in the file.
  static Metric fromName(const std::string& name);

  MetricKind kind() const { return kind_; }
  const char* name() const;
  bool higherIsBetter() const { return kind_ != MetricKind::kMse; }
  bool needsLabels() const { return kind_ == MetricKind::kTop1 || kind_ == MetricKind::kTop5; }
  // True if reference results must be computed where the data holds none.
  bool needsResults() const {
    return kind_ == MetricKind::kMse || kind_ == MetricKind::kCosine || kind_ == MetricKind::kSqnr;
  }

  // Adds the first `samples` rows of the first tensor in `outputs`, judged against labels (kTop*: scores (batch,
  // classes), int64 labels (batch)) or reference results of the same sizes.
  // Throws Error(kUsage) if they do not fit together, or the user's function fails. Results that are NaN count as
  // wrong.
  void add(const torch::jit::IValue& outputs, const at::Tensor& targets, std::int64_t samples);
  MetricRecord record() const;  // value over all samples so far
  void clear();                 // starts over

 private:
  struct User;

  MetricKind kind_;
  std::shared_ptr<User> user_;
  double sum_ = 0;     // of the quantity that the kind adds up
  double signal_ = 0;  // kSqnr: power of the reference
  std::int64_t samples_ = 0, elements_ = 0;
};

// Returns the first tensor of a result: itself, or the first in a tuple, list or dictionary. Throws Error(kUsage) if
// there is none. Thread-safe.
at::Tensor firstTensor(const torch::jit::IValue& result);

}  // namespace ipex_studio
