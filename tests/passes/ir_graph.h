// Graphs of .ir files: parsing with named constants, a text that ignores names, running, and printing for --bless.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/torch/torch_compat.h"
#include "tests/passes/ir_case.h"

namespace ipex_studio {

using NamedTensors = std::map<std::string, at::Tensor>;

// Parses a graph; names in `constants` stand for tensor constants in the text. Throws the parser's exceptions.
std::shared_ptr<torch::jit::Graph> parseGraph(const std::string& text, const NamedTensors& constants);

// Text that is equal for graphs which compute the same in the same order: values numbered, constants where they are
// used, tensor constants as tensor#k with their fingerprints beside the text. `known` overrides the fingerprints of the
// constants of those names.
struct CanonicalGraph {
  std::string text;
  std::vector<Fingerprint> tensors;
};
CanonicalGraph canonicalGraph(const torch::jit::Graph& graph, const std::map<std::string, Fingerprint>& known = {});

// Prints an expectation: constants of the case by their name, others by a fingerprint line before the graph.
std::string printExpectation(torch::jit::Graph& graph, const NamedTensors& constants);

// Runs a copy of the graph in the interpreter, unoptimized. `inputs` may be changed by the graph.
std::vector<torch::jit::IValue> runGraph(const torch::jit::Graph& graph, std::vector<torch::jit::IValue>& inputs);

// True if all operators of the graph are known to this process.
bool operatorsKnown(torch::jit::Graph& graph);

}  // namespace ipex_studio
