// LayerTimer: what layers and memory do in one step of a training.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/model/model.h"
#include "core/record/training_record.h"
#include "core/torch/torch_compat.h"

namespace ipex_studio {

class MemoryMeter;

// A step that was profiled.
struct StepProfile {
  std::vector<TrainingLayer> layers;  // the longest first
  std::vector<TrainingMemory> memory;
};

// Runs forward node by node, and knows by libtorch's numbers of gradient functions which of them each node has made.
// For the thread that also runs the backward. Not thread-safe.
class LayerTimer {
 public:
  // `parameters` and their `names` have to outlive it. Counts memory from now on.
  LayerTimer(const std::vector<std::string>& names, const std::vector<at::Tensor>& parameters);
  ~LayerTimer();

  // Results are those of the interpreter, bit for bit. Throws Error(kUnsupported) as NodeRunner does.
  torch::jit::IValue forward(torch::jit::Graph& graph, const std::vector<torch::jit::IValue>& arguments);
  // Calls `run` and notes the time of each gradient function in it, and the norms of gradients behind it.
  void backward(const std::function<void()>& run);
  // Shares the optimizer's `whole_ns` among layers. `each_ns`: one number a parameter.
  void update(std::int64_t whole_ns, const std::vector<std::int64_t>& each_ns);

  // The layer whose node made the gradient function of this number; empty if none did.
  std::string layerOf(std::int64_t number) const;
  StepProfile profile(std::int64_t step) const;

 private:
  std::size_t placeOf(const std::string& name);
  void note(const char* phase, const std::string& layer);
  std::int64_t gradientBytes() const;

  const std::vector<std::string>& names_;
  const std::vector<at::Tensor>& parameters_;
  const std::int64_t begin_ns_;
  std::vector<TrainingLayer> layers_;
  std::vector<double> squares_;  // of the gradients of each layer; negative: it has none
  std::vector<TrainingMemory> memory_;
  std::unordered_map<std::string, std::size_t> places_;
  std::unordered_map<std::int64_t, std::size_t> makers_;  // the places in layers_ by the number of a gradient function
  std::int64_t gradient_bytes_ = 0;
  std::unique_ptr<MemoryMeter> meter_;
};

// "layer1.0.conv1 12.1 + 25.0 ms (18 %), …": the longest layers, forward and backward, and their share of all; empty
// for no layers.
std::string layerTimesText(const std::vector<TrainingLayer>& layers);

}  // namespace ipex_studio
