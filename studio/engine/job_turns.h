// A module that is run turn by turn, when the studio says so.
#pragma once

#include "core/graph/model.h"
#include "studio/engine/channel.h"

namespace ipex_studio {

// Runs forward on every instance for one turn and sends the samples.
void takeTurn(torch::jit::Module& module, const Inputs& inputs, const MeasureOptions& options, const Turn& turn,
              Channel& channel);

// Answers turns until a finish request comes, and returns that.
FinishRequest takeTurns(torch::jit::Module& module, const Inputs& inputs, const MeasureOptions& options,
                        Channel& channel);

// One call of forward, timed. Throws Error(kUsage) when the model does not take these inputs.
std::int64_t firstRun(torch::jit::Module& module, const Inputs& inputs);

std::int64_t nowNs();

}  // namespace ipex_studio
