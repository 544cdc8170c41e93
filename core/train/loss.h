// Loss: what a training makes small, and what it asks of results and targets.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/torch/torch_compat.h"

namespace ipex_studio {

struct LossKind;  // a row of the table in loss.cpp

class Loss {
 public:
  // "cross_entropy:smoothing=0.1". Throws Error(kUsage) in one sentence.
  explicit Loss(const std::string& text);

  // True if targets are numbers of classes.
  bool takesLabels() const;
  const char* name() const;
  // Throws Error(kUsage) in one sentence if results of this form have no loss with these targets, or if a label is not
  // among the classes. `output`: (N, classes, …) with labels of (N, …), else of the targets' sizes.
  void check(const at::Tensor& output, const at::Tensor& targets) const;
  // Throws the same for a label of the data that check() has not seen yet.
  void checkLabels(const at::Tensor& output, const std::vector<std::int64_t>& labels) const;
  // The mean over the batch, in FP32 for results in BF16. Thread-safe.
  at::Tensor operator()(const at::Tensor& output, const at::Tensor& targets) const;

 private:
  const LossKind* kind_;
  double setting_ = 0;  // of the kind: smoothing, beta, delta
};

}  // namespace ipex_studio
