// Runs a module for each turn, in one instance or through a pool of them.
#include "studio/engine/job_rounds.h"

#include <exception>
#include <new>

#include "core/base/clock.h"
#include "core/model/measure.h"
#include "core/runtime/machine_load.h"
#include "core/torch/torch_error.h"

namespace ipex_studio {
Rounds::Rounds(torch::jit::Module& module, const ModuleState& state, const Inputs& inputs,
               const MeasureOptions& options, Channel& channel)
    : module_(module), state_(state), inputs_(inputs), channel_(channel) {
  if (options.instances > 1) pool_ = std::make_unique<InstancePool>(module, options.instances, options.threads);
}

void Rounds::take(const Turn& turn) {
  RoundResult result;
  result.index = turn.index;
  state_.restore();
  const LoadWatch watch;
  const std::int64_t wall = result.begin_ns = nowNs();
  const std::int64_t cpu = processCpuNs();
  result.latency_ns = pool_ ? timeInstances(*pool_, inputs_, turn.seconds, turn.iterations)
                            : timeForward(module_, inputs_, turn.seconds, turn.iterations);
  result.wall_ns = nowNs() - wall;
  result.cpu_ns = processCpuNs() - cpu;
  result.noise = watch.seen();
  channel_.send(toJson(result));
}

FinishRequest Rounds::takeAll() {
  while (true) {
    const nlohmann::json message = channel_.receive();
    if (messageText(message, "type") == "finish") {
      state_.restore();
      return finishRequestFromJson(message);
    }
    take(turnFromJson(message));
  }
}

std::int64_t firstRun(torch::jit::Module& module, const Inputs& inputs) {
  const std::int64_t begin = nowNs();
  try {
    timeForward(module, inputs, 0, 1);
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& problem) {
    throw runError(problem);
  }
  return nowNs() - begin;
}

}  // namespace ipex_studio
