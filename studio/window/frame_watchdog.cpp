// See frame_watchdog.h.
#include "studio/window/frame_watchdog.h"

#include <time.h>

#include <algorithm>
#include <cmath>

namespace ipex_studio {
namespace {

constexpr std::size_t kMaxFrames = 1 << 16;

std::int64_t now(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<std::int64_t>(time.tv_sec) * 1000000000 + time.tv_nsec;
}

}  // namespace

void FrameWatchdog::begin() {
  cpu_begin_ns_ = now(CLOCK_THREAD_CPUTIME_ID);
  wall_begin_ns_ = now(CLOCK_MONOTONIC);
}

void FrameWatchdog::end() {
  const double cpu_ms = static_cast<double>(now(CLOCK_THREAD_CPUTIME_ID) - cpu_begin_ns_) / 1e6;
  const auto wall_ms = static_cast<float>(static_cast<double>(now(CLOCK_MONOTONIC) - wall_begin_ns_) / 1e6);
  if (cpu_ms > kMaxCpuMs) ++statistics_.blocked;
  statistics_.worst_cpu_ms = std::max(statistics_.worst_cpu_ms, cpu_ms);
  const auto slot = static_cast<std::size_t>(statistics_.frames) % kMaxFrames;
  if (slot < wall_ms_.size()) {
    wall_ms_[slot] = wall_ms;
  } else {
    wall_ms_.push_back(wall_ms);
  }
  ++statistics_.frames;
}

FrameStatistics FrameWatchdog::statistics() const {
  FrameStatistics result = statistics_;
  if (wall_ms_.empty()) return result;
  std::vector<float> sorted = wall_ms_;
  const auto rank = static_cast<std::size_t>(std::ceil(static_cast<double>(sorted.size()) * 0.99)) - 1;
  std::nth_element(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(rank), sorted.end());
  result.wall_p99_ms = sorted[rank];
  return result;
}

}  // namespace ipex_studio
