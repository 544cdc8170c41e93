// Compares an optimized model with its original, node by node.
#pragma once

#include "core/compare/first_wrong_node.h"
#include "core/compare/node_pairs.h"
#include "passes/optimize.h"

namespace ipex_studio {

// The frozen form of a model, with the names of its nodes.
struct FrozenOriginal {
  FrozenOriginal(const torch::jit::Module& original, const std::vector<std::string>& preserved);
  torch::jit::Graph& graph() const { return *module.get_method("forward").graph(); }

  torch::jit::Module module;
  OriginTable table;
};

// The first node that the passes made wrong; kernels take no part. `results_are_wrong`: those of `optimized.rewritten`
// were found to be wrong. Throws what running throws.
FirstWrongNode firstWrongRewritten(const FrozenOriginal& original, const OptimizedModel& optimized,
                                   const Inputs& inputs, const AccuracyRule& rule, bool results_are_wrong);

// The first operation whose value is wrong inside of a region.
struct WrongOperation {
  ValueDifference difference;
  std::vector<ValueDifference> feeds;
  std::vector<OriginId> origins;  // of the operation
  std::string name, kind;         // "layer1.0.conv3 + relu", "convolution"
};

// Looks into the regions of `planned`: values inside become results of a plan of their own, one at a time, until an
// operation is found that gives a wrong value from right ones. nullopt: no region gives other results than the original
// on what it reads there, or none whose inside can be compared.
std::optional<WrongOperation> firstWrongPlanned(const FrozenOriginal& original, const torch::jit::Module& planned,
                                                const Inputs& inputs, const ValueTolerance& tolerance);

}  // namespace ipex_studio
