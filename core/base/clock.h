// The clock that everything is timed by, and the one that budgets are counted by.
#pragma once

#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace ipex_studio {

// Nanoseconds on a clock that never jumps; only differences mean something. Thread-safe.
inline std::int64_t nowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// The time that a thread got for its work. On a busy machine a budget of wall time is gone before much is measured.
class WorkTime {
 public:
  // CPU time of the calling thread since this object was made, but at least half of the wall's: a thread that waits for
  // others ends, too. To be called by the thread that made it.
  std::int64_t ns() const { return std::max(threadNs() - thread_begin_, (nowNs() - wall_begin_) / 2); }

 private:
  static std::int64_t threadNs() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
  }

  std::int64_t wall_begin_ = nowNs(), thread_begin_ = threadNs();
};

}  // namespace ipex_studio
