// TrainingForward: forward of the module that is trained.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/model/model.h"
#include "core/torch/torch_compat.h"
#include "core/train/layer_times.h"

namespace ipex_studio {

// Runs a copy of forward whose layers are operators of ours (training_layers.h) on the module's own parameters and
// state. The process has to have those operators loaded. Not thread-safe.
class TrainingForward {
 public:
  // Weights of convolutions get channels last, in place. Without `by_kernels` forward runs as it is.
  TrainingForward(torch::jit::Module module, bool by_kernels);

  torch::jit::IValue operator()(const Inputs& arguments);
  // The same, bit for bit, with the times of layers.
  torch::jit::IValue timed(const Inputs& arguments, LayerTimer* timer);

  // For its scope parameters lie in memory as those of a new module do: for files, and for the module's own forward.
  class PlainOrder {
   public:
    explicit PlainOrder(const TrainingForward& forward);
    ~PlainOrder();
    PlainOrder(const PlainOrder&) = delete;
    PlainOrder& operator=(const PlainOrder&) = delete;

   private:
    std::vector<std::pair<at::Tensor, at::Tensor>> moved_;  // a parameter, and its values in their former order
  };

 private:
  torch::jit::Stack operands(const Inputs& arguments) const;

  torch::jit::Module module_;
  std::shared_ptr<torch::jit::Graph> graph_;             // what is run
  std::unique_ptr<torch::jit::GraphExecutor> executor_;  // null: the module's own forward
  std::vector<at::Tensor> weights_;                      // with channels last
};

}  // namespace ipex_studio
