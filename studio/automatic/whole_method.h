// A method of a module as a function of tensors: run by a plan where that gives the same results, else as it is.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/torch/torch_compat.h"

namespace ipex_studio {

// Thread-safe.
class WholeMethod {
 public:
  // `graph`: its first input is the module, of which it reads nothing.
  explicit WholeMethod(const std::shared_ptr<torch::jit::Graph>& graph);

  // Takes the arguments, the module first, from the stack and leaves the results. Throws what the method throws.
  void run(torch::jit::Stack& stack);

  // True while this thread runs one, whose own graphs stay as they are.
  static bool isRunning();

 private:
  using Inputs = std::vector<torch::jit::IValue>;
  std::optional<torch::jit::Method> planFor(const Inputs& tensors);
  std::optional<torch::jit::Method> makePlan(const Inputs& tensors);
  Inputs runAsItIs(const Inputs& tensors);

  std::shared_ptr<torch::jit::Graph> graph_;
  torch::jit::GraphExecutor executor_;
  std::mutex mutex_;
  std::map<std::string, std::optional<torch::jit::Method>> plans_;  // by dtypes and ranks
};

}  // namespace ipex_studio
