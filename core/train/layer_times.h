// The times of layers in one step of a training.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/model/model.h"
#include "core/torch/torch_compat.h"

namespace ipex_studio {

// The operations of one module that stands in the code of forward, or of one kind where no module is known.
struct LayerTime {
  std::string name;  // "layer1.0.conv1", or "aten::relu"
  std::int64_t forward_ns = 0;
  std::int64_t backward_ns = 0;
};

// Runs forward node by node, and knows by libtorch's numbers of gradient functions which of them each node has made.
// For the thread that also runs the backward. Not thread-safe.
class LayerTimer {
 public:
  // Results are those of the interpreter, bit for bit. Throws Error(kUnsupported) as NodeRunner does.
  torch::jit::IValue forward(torch::jit::Graph& graph, const std::vector<torch::jit::IValue>& arguments);
  // Calls `run` and notes the time of each gradient function in it.
  void backward(const std::function<void()>& run);
  // The longest first.
  std::vector<LayerTime> times() const;

 private:
  std::size_t placeOf(const std::string& name);

  std::vector<LayerTime> times_;
  std::unordered_map<std::string, std::size_t> places_;
  std::unordered_map<std::int64_t, std::size_t> makers_;  // the places in times_ by the number of a gradient function
};

// "layer1.0.conv1 12.1 + 25.0 ms (18 %), …": the longest layers, forward and backward, and their share of all; empty
// for no times.
std::string layerTimesText(const std::vector<LayerTime>& times);

}  // namespace ipex_studio
