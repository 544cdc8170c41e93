// A checkpoint is the module's own file with the training's state beside it: extra/training.json, and in extra/state/N
// the numbers of each state of the optimizer, FP32, in order of their dimensions.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "core/torch/torch_compat.h"
#include "core/train/training_optimizer.h"

namespace ipex_studio {

struct TrainingState {
  std::int64_t step = 0;    // steps that were done
  std::int64_t judged = 0;  // epochs whose end was seen
  // A run that continues this one has to have the same data, seed and optimizer.
  std::string data;  // DataSet::fingerprint()
  std::uint64_t seed = 0;
  std::string optimizer;  // its name
  std::vector<TrainingOptimizer::State> states;
  std::vector<std::int64_t> updates;
};

// Writes the module as it stands. Throws what libtorch throws if the stream fails.
void writeCheckpoint(const torch::jit::Module& module, const TrainingState& state, std::ostream& stream);

// Reads the state out of an open file, which stays open. Throws Error(kBadModel) naming `name` if it is no checkpoint,
// or a damaged one.
TrainingState readTrainingState(int fd, const std::string& name);

// Throws Error(kBadModel) naming the first difference if the modules have not the same parameters and buffers.
void requireSameNetwork(const torch::jit::Module& model, const torch::jit::Module& checkpoint, const std::string& name);

}  // namespace ipex_studio
