// Helpers of tests that measure times.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>

namespace ipex_studio {

// CPU time of this thread, which does not depend on what shares the core.
inline double cpuMs() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
}

inline double secondsSince(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// Prints what was measured beside its goal. A goal that is missed fails only where tests/run.sh --goals asks for it: on a
// machine that is shared, or with the sanitizers, a time says nothing about what is right.
inline void expectWithin(const std::string& what, double measured, double goal, const char* unit = "ms") {
  std::printf("%s: %.3g %s (goal %g%s)\n", what.c_str(), measured, unit, goal, measured <= goal ? "" : ", missed");
  if (std::getenv("IPEX_GOALS") != nullptr) {
    EXPECT_LE(measured, goal) << what;
  }
}

}  // namespace ipex_studio
