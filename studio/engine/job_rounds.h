// A module that is run turn by turn, when the studio says so.
#pragma once

#include <memory>

#include "core/model/instance_pool.h"
#include "studio/engine/channel.h"

namespace ipex_studio {

// Runs forward when the studio asks for a turn; with several instances through a pool of them, which stays between rounds.
class Rounds {
 public:
  Rounds(torch::jit::Module& module, const Inputs& inputs, const MeasureOptions& options, Channel& channel);
  // Answers rounds until a finish request comes, and returns that.
  FinishRequest takeAll();

 private:
  void take(const Turn& turn);

  torch::jit::Module& module_;
  const Inputs& inputs_;
  Channel& channel_;
  std::unique_ptr<InstancePool> pool_;
};

// One call of forward, timed. Throws Error(kUsage) when the model does not take these inputs.
std::int64_t firstRun(torch::jit::Module& module, const Inputs& inputs);

}  // namespace ipex_studio
