// Runs a module turn by turn, when the studio asks for it.
#pragma once

#include <memory>

#include "core/model/instance_pool.h"
#include "core/model/module_state.h"
#include "studio/engine/channel.h"

namespace ipex_studio {

// Runs forward for each turn that the studio asks for; several instances run through one pool, which lives as long as
// this, or through one of the turn's own where that says how many. Each turn begins with `state`, which is the
// module's, so that variants that run side by side see equal states however many calls fit into their turns. The module
// is left with that state.
class Rounds {
 public:
  Rounds(torch::jit::Module& module, const ModuleState& state, const Inputs& inputs, const MeasureOptions& options,
         Channel& channel);
  // Answers turns until a finish request comes, and returns that.
  FinishRequest takeAll();
  // True if a turn said how many instances and threads run.
  bool tookSplits() const { return took_splits_; }

 private:
  void take(const Turn& turn);

  torch::jit::Module& module_;
  const ModuleState& state_;
  const Inputs& inputs_;
  Channel& channel_;
  std::unique_ptr<InstancePool> pool_;
  bool took_splits_ = false;
};

// One call of forward, timed. Throws Error(kUsage) when the model does not take these inputs.
std::int64_t firstRun(torch::jit::Module& module, const Inputs& inputs);

}  // namespace ipex_studio
