// Helpers of tests that measure times.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>

namespace ipex_studio {

// CPU time of this thread in ms, which does not depend on other work on the core.
inline double cpuMs() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
}

inline double secondsSince(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// Prints a measured value beside its goal. A missed goal fails only with tests/run.sh --goals: on a shared machine, or
// with the sanitizers, a time says nothing about correctness.
inline void expectWithin(const std::string& what, double measured, double goal, const char* unit = "ms") {
  std::printf("%s: %.3g %s (goal %g%s)\n", what.c_str(), measured, unit, goal, measured <= goal ? "" : ", missed");
  if (std::getenv("IPEX_GOALS") != nullptr) {
    EXPECT_LE(measured, goal) << what;
  }
}

}  // namespace ipex_studio
