// Runs a module turn by turn, when the studio asks for it.
#pragma once

#include <memory>

#include "core/model/instance_pool.h"
#include "studio/engine/channel.h"

namespace ipex_studio {

// Runs forward for each turn that the studio asks for; several instances run through one pool, which lives as long as
// this.
class Rounds {
 public:
  Rounds(torch::jit::Module& module, const Inputs& inputs, const MeasureOptions& options, Channel& channel);
  // Answers turns until a finish request comes, and returns that.
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
