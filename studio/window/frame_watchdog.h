// Measures the CPU time of each frame on the drawing thread, without the GL driver's share.
#pragma once

#include <cstdint>
#include <vector>

namespace ipex_studio {

struct FrameStatistics {
  std::int64_t frames = 0;
  std::int64_t blocked = 0;  // frames that took more than FrameWatchdog::kMaxCpuMs of the drawing thread's CPU time
  double worst_cpu_ms = 0;
  double wall_p99_ms = 0;  // 99th percentile of the frames' wall time, nearest rank
};

// Used by the drawing thread alone.
class FrameWatchdog {
 public:
  static constexpr double kMaxCpuMs = 100;

  void begin();
  // Ends the frame that begin() began.
  void end();
  FrameStatistics statistics() const;

 private:
  std::int64_t cpu_begin_ns_ = 0;
  std::int64_t wall_begin_ns_ = 0;
  FrameStatistics statistics_;
  std::vector<float> wall_ms_;  // wall times of the last frames, a ring
};

}  // namespace ipex_studio
