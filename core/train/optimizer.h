// Optimizer: updates parameters by their gradients, as the optimizers of torch.optim do, and keeps its states where a
// checkpoint can read them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/torch/torch_compat.h"

namespace ipex_studio {

struct OptimizerRule;  // a row of the table in optimizer.cpp

// Not thread-safe.
class Optimizer {
 public:
  // A tensor that the optimizer keeps for a parameter.
  struct State {
    std::string name;           // as torch.optim calls it: "momentum_buffer", "exp_avg"
    std::size_t parameter = 0;  // its place among the parameters
    at::Tensor value;
  };

  // `text`: "sgd:lr=0.01,momentum=0.9". Throws Error(kUsage) in one sentence.
  Optimizer(const std::string& text, std::vector<at::Tensor> parameters);
  ~Optimizer();

  const char* name() const;
  // The rate that the text gives.
  double learningRate() const { return learning_rate_; }
  // Updates each parameter that has a gradient.
  void step(double learning_rate);

  // All states so far, and the number of updates of each parameter.
  std::vector<State> states() const;
  const std::vector<std::int64_t>& updates() const { return updates_; }
  // Puts back what another optimizer of the same parameters had. Throws Error(kBadModel) for states that this optimizer
  // does not keep, or whose sizes are not those of their parameters.
  void restore(const std::vector<State>& states, const std::vector<std::int64_t>& updates);

 private:
  const OptimizerRule* rule_;
  std::vector<double> settings_;  // in the order of the rule's
  double learning_rate_ = 0;
  std::vector<at::Tensor> parameters_;
  std::vector<std::vector<at::Tensor>>
      states_;  // by parameter, then in the order of the rule's; undefined until needed
  std::vector<std::int64_t> updates_;
};

}  // namespace ipex_studio
