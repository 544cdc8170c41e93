// Operators of Intel Extension for PyTorch that can be written in operators of PyTorch (operators.txt).
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/extension/packed_layers.h"

namespace ipex_studio {

struct ExtensionOperator {
  std::string name;                                  // "torch_ipex::ipex_linear"
  std::string schema;                                // with the classes and the overload under which it is declared
  std::map<std::size_t, const PackedLayer*> layers;  // arguments that are packed layers, or addresses of some
  std::vector<std::string> arguments;                // "input: Tensor", in TorchScript
  std::string body;
};

// Throws Error(kFailure) if operators.txt is not as its head says.
const std::vector<ExtensionOperator>& extensionOperators();
// Returns the graph that a node of that schema stands for, with a layer's state in the place of the layer; null for
// other schemas. Thread-safe.
std::shared_ptr<torch::jit::Graph> writtenOut(const c10::FunctionSchema& schema);
const ExtensionOperator* extensionOperator(const c10::FunctionSchema& schema);

}  // namespace ipex_studio
