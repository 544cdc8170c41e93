// Faults put into models on purpose: behind a rewrite of the passes, in the plan of a region, in a copy of the model.
#pragma once

#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "passes/fault_search.h"

namespace ipex_studio::testing {

enum class FaultKind { kScale, kWeight, kLayout, kRounding, kOperand };
constexpr FaultKind kFaultKinds[] = {FaultKind::kScale, FaultKind::kWeight, FaultKind::kLayout, FaultKind::kRounding,
                                     FaultKind::kOperand};
const char* faultName(FaultKind kind);

// Makes a node at the top level of a graph wrong. False, and nothing is changed, where it has nothing of the kind.
bool spoilNode(torch::jit::Node* node, FaultKind kind);

// A model with a fault, and what a search should find.
struct PlantedFault {
  WrongModel model;
  std::string blame;  // "fuse-activation#12+13"
  OriginId node = 0;  // of the original, that goes wrong
};

// A fault in the node that a rewrite made, there only as long as the rewrite is. nullopt where the rewrite cannot be
// spoilt so. `rewrite`: its number, from 1 on.
std::optional<PlantedFault> plantBehindRewrite(const torch::jit::Module& original, const Inputs& inputs,
                                               std::int64_t rewrite, FaultKind kind);
std::int64_t countRewrites(const torch::jit::Module& original, const Inputs& inputs);

// A fault in a constant of a planned operation, there only as long as the operation is planned. `operation`: its number
// among those that read constants. `planned`: how the model is optimized.
std::optional<PlantedFault> plantInPlan(const torch::jit::Module& original, const Inputs& inputs, std::size_t operation,
                                        FaultKind kind, const OptimizeOptions& planned = {});

}  // namespace ipex_studio::testing
