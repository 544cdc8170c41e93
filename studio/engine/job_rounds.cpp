// Runs a module for each turn, in one instance or through a pool of them.
#include "studio/engine/job_rounds.h"

#include <unistd.h>

#include <cstdio>
#include <exception>
#include <new>

#include "core/base/clock.h"
#include "core/model/measure.h"
#include "core/runtime/machine_load.h"
#include "core/torch/torch_error.h"

namespace ipex_studio {
namespace {

std::int64_t residentBytes() {
  std::FILE* file = std::fopen("/proc/self/statm", "re");
  if (file == nullptr) return 0;
  long long all = 0, resident = 0;
  const int read = std::fscanf(file, "%lld %lld", &all, &resident);
  std::fclose(file);
  return read == 2 ? resident * ::sysconf(_SC_PAGESIZE) : 0;
}

}  // namespace

Rounds::Rounds(torch::jit::Module& module, const ModuleState& state, const Inputs& inputs,
               const MeasureOptions& options, Channel& channel)
    : module_(module), state_(state), inputs_(inputs), channel_(channel) {
  if (options.instances > 1) pool_ = std::make_unique<InstancePool>(module, options.instances, options.threads);
}

void Rounds::take(const Turn& turn) {
  RoundResult result;
  result.index = turn.index;
  state_.restore();
  std::unique_ptr<InstancePool> own;
  if (turn.instances > 0) {
    own = std::make_unique<InstancePool>(module_, turn.instances, turn.threads);
    timeInstances(*own, inputs_, 0, 2 * turn.instances);  // each has its plans and memory
    took_splits_ = true;
  }
  InstancePool* const pool = own ? own.get() : pool_.get();
  const LoadWatch watch;
  const std::int64_t wall = result.begin_ns = nowNs();
  const std::int64_t cpu = processCpuNs();
  result.latency_ns = pool != nullptr ? timeInstances(*pool, inputs_, turn.seconds, turn.iterations)
                                      : timeForward(module_, inputs_, turn.seconds, turn.iterations);
  result.wall_ns = nowNs() - wall;
  result.cpu_ns = processCpuNs() - cpu;
  result.noise = watch.seen();
  result.memory_bytes = residentBytes();
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
