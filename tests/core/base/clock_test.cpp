// How budgets of time are counted.
#include "core/base/clock.h"

#include <gtest/gtest.h>

#include <thread>

namespace ipex_studio {
namespace {

TEST(WorkTime, CountsHalfOfTheTimeThatAThreadWaits) {
  const std::int64_t begin = nowNs();
  const WorkTime work;
  std::this_thread::sleep_for(std::chrono::milliseconds(40));
  const std::int64_t least = 20'000'000, spent = work.ns(), wall = nowNs() - begin;
  EXPECT_GE(spent, least);
  EXPECT_LT(spent, wall);
}

TEST(WorkTime, CountsAllTimeInWhichAThreadWorks) {
  const WorkTime work;
  volatile double sum = 0;
  timespec begin{}, now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
  const auto worked = [&] { return (now.tv_sec - begin.tv_sec) * 1'000'000'000 + now.tv_nsec - begin.tv_nsec; };
  while (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) == 0 && worked() < 30'000'000) sum = sum + 1;
  EXPECT_GE(work.ns(), 30'000'000);
}

}  // namespace
}  // namespace ipex_studio
