// Timing of a module, to be driven turn by turn. Times are nanoseconds of the steady clock. A module that has no state may
// be timed by several threads at once; profiling takes a module for itself. Throws Error(kUsage) when inputs do not fit,
// Error(kFailure) when the model fails while running.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/model/model.h"

namespace ipex_studio {

// Sets the one OpenMP pool that libtorch, oneDNN and our kernels share. Call before the first run. 0: all usable cores.
void setThreads(int threads);

// Runs forward until `seconds` have passed or `iterations` > 0 calls were made; returns one sample (ns) per call.
// Inputs are not copied; results are dropped inside the timed part as any caller would.
std::vector<std::int64_t> timeForward(torch::jit::Module& module, const Inputs& inputs, double seconds,
                                      std::int64_t iterations, const std::function<bool()>& cancelled = {});

// Origins as optimizeModel gives them: the ids of two freezings of one model are the same.
std::vector<Origin> frozenOrigins(const torch::jit::Module& module, const std::vector<std::string>& preserved);

// Per-step samples of a module: regions report their plan steps, the rest is timed node by node and belongs to those of
// `origins` that have its module path. Adds steps, dispatches, step_times and coverage.time to `run`.
void profileSteps(torch::jit::Module& module, const Inputs& inputs, int iterations, const std::vector<Origin>& origins,
                  RunRecord& run);

// The most memory this process ever had, in bytes.
std::int64_t peakRssBytes();

}  // namespace ipex_studio
