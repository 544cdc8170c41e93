// Polls the measuring of kernels from a thread of its own, and sends progress.
#include "studio/engine/tuning_watch.h"

#include <fmt/format.h>

#include <chrono>

namespace ipex_studio {
namespace {

constexpr auto kInterval = std::chrono::milliseconds(300);
constexpr double kBegin = 0.8, kEnd = 1.0;  // range of the engine's own progress

}  // namespace

TuningWatch::TuningWatch(const torch::jit::IValue& tuning, Channel& channel) : tuning_(tuning), channel_(channel) {
  if (!tuning_.isNone()) thread_ = std::thread([this] { watch(); });
}

TuningWatch::~TuningWatch() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  ended_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void TuningWatch::watch() {
  std::unique_lock lock(mutex_);
  while (!ended_.wait_for(lock, kInterval, [this] { return stopping_; })) {
    const TuningProgress now = tuningProgress(tuning_);
    if (now.total == 0) continue;
    const double share = static_cast<double>(now.done) / static_cast<double>(now.total);
    channel_.progress(fmt::format("measure kernels, {} of {}", now.done, now.total), kBegin + (kEnd - kBegin) * share,
                      true);
  }
}

}  // namespace ipex_studio
