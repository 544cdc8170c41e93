// What is counted as the work of others: read from made-up and from real counters.
#include "core/runtime/machine_load.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>

namespace ipex_studio {
namespace {

constexpr char kStat[] =
    "cpu  600 20 80 9000 10 1 9 70 0 0\n"
    "cpu0 100 10 40 4000 5 1 4 20 0 0\n"
    "cpu1 500 10 40 5000 5 0 5 50 0 0\n"
    "intr 12345\nctxt 6\n";

TEST(MachineLoad, CountsTheCpusOfTheProcessAlone) {
  const BusyTime both = busyTime(kStat, {true, true}, 100);
  EXPECT_EQ(both.cpus, 2);
  EXPECT_NEAR(both.cpu_s, 7.1, 1e-9);
  EXPECT_NEAR(both.stolen_s, 0.7, 1e-9);
  const BusyTime second = busyTime(kStat, {false, true, true}, 100);
  EXPECT_EQ(second.cpus, 1);
  EXPECT_NEAR(second.cpu_s, 5.55, 1e-9);
  EXPECT_EQ(busyTime("", {true}, 100).cpus, 0);
}

TEST(MachineLoad, PiecesAreWeightedByTime) {
  NoiseRecord sum;
  addNoise({1'000'000'000, 2, 1.0, 0.1, 8, 0, 30'000, 30'000}, &sum);
  addNoise({3'000'000'000, 2, 0.0, 0.0, 0, 0, 28'000, 40'000}, &sum);
  EXPECT_EQ(sum.wall_ns, 4'000'000'000);
  EXPECT_EQ(sum.cpus, 2);
  EXPECT_NEAR(sum.others, 0.25, 1e-9);
  EXPECT_NEAR(sum.stolen, 0.025, 1e-9);
  EXPECT_NEAR(sum.preempted_per_s, 2, 1e-9);
  EXPECT_EQ(sum.fastest_chain_ns, 28'000);
  EXPECT_EQ(sum.slowest_chain_ns, 40'000);
}

// The process that spins while the machine is watched.
enum class Spins { kNobody, kThisProcess, kAnother };

NoiseRecord seenWhile(Spins spins) {
  const auto spin = [](std::chrono::milliseconds time) {
    const auto end = std::chrono::steady_clock::now() + time;
    while (std::chrono::steady_clock::now() < end) {
    }
  };
  const pid_t other = spins == Spins::kAnother ? ::fork() : 1;
  if (other == 0) {
    spin(std::chrono::seconds(20));
    ::_exit(0);
  }
  const LoadWatch watch;
  if (spins == Spins::kThisProcess) {
    spin(std::chrono::milliseconds(600));
  } else {
    std::this_thread::sleep_for(std::chrono::milliseconds(600));
  }
  const NoiseRecord seen = watch.seen();
  if (spins == Spins::kAnother) {
    ::kill(other, SIGKILL);
    ::waitpid(other, nullptr, 0);
  }
  return seen;
}

TEST(MachineLoad, SeesAnotherProgramButNotItself) {
  const NoiseRecord other = seenWhile(Spins::kAnother), own = seenWhile(Spins::kThisProcess),
                    none = seenWhile(Spins::kNobody);
  if (other.cpus == 0) GTEST_SKIP() << "there is no /proc/stat here";
  EXPECT_GT(other.others, 0.3);
  EXPECT_GE(other.wall_ns, 600'000'000);
  EXPECT_GT(other.fastest_chain_ns, 1000);
  // Others may be at work, up to all processors; the own thread is not among them.
  EXPECT_LT(own.others, none.others + 0.7);
}

}  // namespace
}  // namespace ipex_studio
