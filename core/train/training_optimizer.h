// TrainingOptimizer: the optimizer that --optimizer names, its settings, and its states for all parameters.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/torch/torch_compat.h"

namespace ipex_studio {

struct OptimizerForm;  // a row of the table in training_optimizer.cpp

// Updates run by the operator ipex_studio::optimizer_step, which the process has to have loaded. Not thread-safe.
class TrainingOptimizer {
 public:
  // A tensor that the optimizer keeps for a parameter.
  struct State {
    std::string name;           // as torch.optim calls it: "momentum_buffer", "exp_avg"
    std::size_t parameter = 0;  // its place among the parameters
    at::Tensor value;
  };

  // `text`: "sgd:lr=0.01,momentum=0.9". `parameters`: FP32. Throws Error(kUsage) in one sentence.
  TrainingOptimizer(const std::string& text, std::vector<at::Tensor> parameters);

  const char* name() const;
  // The rate that the text gives.
  double learningRate() const { return settings_.front(); }
  // Updates each parameter that has a gradient, clipped to `max_norm` if that is above 0. Returns the norm of all
  // gradients together, before clipping; changes nothing if that is not finite.
  // `each_ns`: null, or becomes the time that each parameter took on all threads.
  double step(double learning_rate, double max_norm, std::vector<std::int64_t>* each_ns = nullptr);

  const std::vector<State>& states() const { return states_; }
  // Updates of each parameter so far.
  const std::vector<std::int64_t>& updates() const { return updates_; }
  // Puts back what another optimizer of the same parameters had. Throws Error(kBadModel) for states that this optimizer
  // does not keep, or whose sizes are others.
  void restore(const std::vector<State>& states, const std::vector<std::int64_t>& updates);

 private:
  double update(const std::vector<std::size_t>& which, double learning_rate, double scale, double max_norm,
                std::vector<std::int64_t>* each_ns);

  const OptimizerForm* form_;
  std::vector<double> settings_;  // in the order that the operator takes
  std::vector<at::Tensor> parameters_;
  std::vector<State> states_;  // those of the first parameter, then those of the second …
  std::size_t states_each_ = 0;
  std::vector<std::int64_t> updates_;
};

}  // namespace ipex_studio
