// Timing of a module, called once per round of an interleaved measurement. Times are nanoseconds of the steady clock.
// Several threads may time a module without state at once; profiling needs a module for itself. Throws Error(kUsage) if
// inputs do not fit, Error(kFailure) if the model fails while running.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/model/model.h"

namespace ipex_studio {

// Sets the size of the OpenMP pool that libtorch, oneDNN and our kernels share. Call before the first run. 0: all
// usable cores.
void setThreads(int threads);

// Runs forward until `seconds` have passed or `iterations` > 0 calls were made; returns one sample (ns) per call. Stops
// early if `cancelled` returns true, which is asked before each call. Inputs are not copied; dropping the results is
// part of the timed call, as for any caller.
std::vector<std::int64_t> timeForward(torch::jit::Module& module, const Inputs& inputs, double seconds,
                                      std::int64_t iterations, const std::function<bool()>& cancelled = {});

// The origins that optimizeModel assigns: two freezings of one model get the same ids.
std::vector<Origin> frozenOrigins(const torch::jit::Module& module, const std::vector<std::string>& preserved);

// Takes samples per step of a module: regions report their plan steps; all other nodes are timed one by one and belong
// to those of `origins` that have their module path. Adds steps, dispatches, step_times and coverage.time to `run`.
void profileSteps(torch::jit::Module& module, const Inputs& inputs, int iterations, const std::vector<Origin>& origins,
                  RunRecord& run);

// The peak resident memory of this process in bytes.
std::int64_t peakRssBytes();

}  // namespace ipex_studio
