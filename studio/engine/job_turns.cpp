#include "studio/engine/job_turns.h"

#include <chrono>
#include <ctime>
#include <exception>
#include <mutex>
#include <new>
#include <thread>

#include "core/graph/measure.h"
#include "core/graph/torch_error.h"

namespace ipex_studio {
namespace {

std::int64_t processCpuNs() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

// Each instance has a thread, and with it a team of OpenMP threads, of its own.
std::vector<std::int64_t> runInstances(torch::jit::Module& module, const Inputs& inputs, const MeasureOptions& options,
                                       const Turn& turn) {
  std::vector<std::int64_t> samples;
  std::exception_ptr failure;
  std::mutex mutex;
  std::vector<std::thread> threads;
  for (std::int32_t instance = 0; instance < options.instances; ++instance) {
    const std::int64_t share = turn.iterations / options.instances + (instance < turn.iterations % options.instances);
    if (turn.iterations > 0 && share == 0) continue;
    threads.emplace_back([&, share] {
      try {
        setThreads(options.threads);
        const auto own = timeForward(module, inputs, turn.seconds, share);
        const std::lock_guard lock(mutex);
        samples.insert(samples.end(), own.begin(), own.end());
      } catch (...) {
        const std::lock_guard lock(mutex);
        failure = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (failure) std::rethrow_exception(failure);
  return samples;
}

}  // namespace

std::int64_t nowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void takeTurn(torch::jit::Module& module, const Inputs& inputs, const MeasureOptions& options, const Turn& turn,
              Channel& channel) {
  TurnResult result;
  result.index = turn.index;
  const std::int64_t wall = nowNs();
  const std::int64_t cpu = processCpuNs();
  result.latency_ns = options.instances > 1 ? runInstances(module, inputs, options, turn)
                                            : timeForward(module, inputs, turn.seconds, turn.iterations);
  result.wall_ns = nowNs() - wall;
  result.cpu_ns = processCpuNs() - cpu;
  channel.send(toJson(result));
}

FinishRequest takeTurns(torch::jit::Module& module, const Inputs& inputs, const MeasureOptions& options,
                        Channel& channel) {
  while (true) {
    const nlohmann::json message = channel.receive();
    if (messageText(message, "type") == "finish") return finishRequestFromJson(message);
    takeTurn(module, inputs, options, turnFromJson(message), channel);
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
