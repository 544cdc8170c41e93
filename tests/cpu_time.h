// What tests of times share.
#pragma once

#include <ctime>

namespace ipex_studio {

// Of this thread: what one core needs, however many others share it.
inline double cpuMs() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
}

// Goals are for what is shipped: with the sanitizers the code runs for their sake, and its times mean nothing.
#ifdef __SANITIZE_ADDRESS__
constexpr bool kTimesCount = false;
#else
constexpr bool kTimesCount = true;
#endif

}  // namespace ipex_studio
