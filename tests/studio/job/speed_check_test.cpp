// The verdict of a check on simulated processes with the noise of a shared machine: no false alarms, and slowdowns of
// five percent are found in time.
#include "studio/job/speed_check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <random>
#include <utility>
#include <vector>

#include "studio/job/session_check.h"

namespace ipex_studio {
namespace {

// What disturbs times, as measured on a machine with neighbours: each process lies elsewhere in memory, rounds drift
// together, turns and forwards differ, and some forwards are interrupted.
struct Noise {
  double process = 0.004, drift = 0.03, turn = 0.008, forward = 0.02;
  double interrupted = 0.05, interruption = 0.4;
};

class SimulatedProcesses : public RoundSource {
 public:
  SimulatedProcesses(double slowdown, std::uint64_t seed, Noise noise = {})
      : slowdown_(slowdown), noise_(noise), engine_(seed) {
    restart();
  }
  void restart() override {
    ++starts;
    for (double& factor : processes_) factor = around(noise_.process);
    seconds_left_ -= 2;
  }
  std::vector<std::int64_t> take(CheckSide side, int round) override {
    if (round != round_) {
      round_ = round;
      drift_ *= around(noise_.drift);
      drift_ = std::clamp(drift_, 0.7, 1.5);
    }
    const double at = 1e7 * drift_ * processes_[static_cast<std::size_t>(side)] * around(noise_.turn) *
                      (side == CheckSide::kNew ? 1 + slowdown_ : 1);
    std::vector<std::int64_t> samples;
    double used_s = 0;
    while (used_s < 0.1) {
      double ns = at * around(noise_.forward);
      if (unit_(engine_) < noise_.interrupted) ns *= 1 + noise_.interruption * unit_(engine_);
      samples.push_back(static_cast<std::int64_t>(ns));
      used_s += ns / 1e9;
    }
    seconds_left_ -= used_s + 0.02;
    return samples;
  }
  double secondsLeft() override { return seconds_left_; }

  int starts = 0;

 private:
  double around(double share) { return std::exp(share * normal_(engine_)); }

  double slowdown_;
  Noise noise_;
  std::mt19937_64 engine_;
  std::normal_distribution<double> normal_;
  std::uniform_real_distribution<double> unit_{0, 1};
  double processes_[3] = {1, 1, 1};
  double drift_ = 1, seconds_left_ = 62;
  int round_ = -1;
};

int runs() { return std::getenv("IPEX_CAMPAIGN") != nullptr ? 1000 : 200; }

TEST(SpeedCheck, RaisesNoFalseAlarm) {
  int alarms = 0, rounds = 0;
  for (int run = 0; run < runs(); ++run) {
    SimulatedProcesses processes(0, 1000 + static_cast<std::uint64_t>(run));
    const SpeedCheck check = checkSpeed(processes, 0.02);
    alarms += check.slower ? 1 : 0;
    rounds += check.rounds;
    EXPECT_GT(processes.secondsLeft(), -1);
  }
  EXPECT_LE(alarms, runs() / 200);
  EXPECT_LT(rounds, 20 * runs()) << "equal models are told quickly";
}

TEST(SpeedCheck, FindsFivePercentInAMinute) {
  int found = 0;
  for (int run = 0; run < runs(); ++run) {
    SimulatedProcesses processes(0.05, 5000 + static_cast<std::uint64_t>(run));
    found += checkSpeed(processes, 0.02).slower ? 1 : 0;
    EXPECT_GT(processes.secondsLeft(), -1);
  }
  EXPECT_GE(found, runs() * 95 / 100);
}

// Twice the noise between processes that was measured.
TEST(SpeedCheck, HoldsWhereProcessesDiffer) {
  Noise noise;
  noise.process = 0.008;
  int alarms = 0, found = 0;
  for (int run = 0; run < runs(); ++run) {
    SimulatedProcesses equal(0, 20000 + static_cast<std::uint64_t>(run), noise);
    alarms += checkSpeed(equal, 0.02).slower ? 1 : 0;
    SimulatedProcesses slower(0.05, 30000 + static_cast<std::uint64_t>(run), noise);
    found += checkSpeed(slower, 0.02).slower ? 1 : 0;
  }
  EXPECT_LE(alarms, runs() / 200);
  EXPECT_GE(found, runs() * 95 / 100);
}

TEST(SpeedCheck, PassesWhatIsFaster) {
  for (int run = 0; run < 20; ++run) {
    SimulatedProcesses processes(-0.2, 9000 + static_cast<std::uint64_t>(run));
    const SpeedCheck check = checkSpeed(processes, 0.02);
    EXPECT_FALSE(check.slower);
    EXPECT_LT(check.ratio.high, 1);
  }
}

TEST(SpeedCheck, ConfirmsInNewProcesses) {
  SimulatedProcesses slower(0.3, 1);
  EXPECT_TRUE(checkSpeed(slower, 0.02).slower);
  EXPECT_EQ(slower.starts, 2);
  SimulatedProcesses equal(0, 1);
  EXPECT_FALSE(checkSpeed(equal, 0.02).slower);
  EXPECT_EQ(equal.starts, 1);
}

// Processes whose new side is slower by another share in each set.
class SetsOfProcesses : public RoundSource {
 public:
  explicit SetsOfProcesses(std::vector<double> slowdowns) : slowdowns_(std::move(slowdowns)) {}
  void restart() override { ++set; }
  std::vector<std::int64_t> take(CheckSide side, int round) override {
    seconds_left_ -= 0.1;
    const double slowdown = side == CheckSide::kNew ? slowdowns_[std::min(set, slowdowns_.size() - 1)] : 0;
    return {static_cast<std::int64_t>(1e6 * (1 + slowdown) * (1 + 0.001 * (round % 3)))};
  }
  double secondsLeft() override { return seconds_left_; }

  std::size_t set = 0;

 private:
  std::vector<double> slowdowns_;
  double seconds_left_ = 60;
};

TEST(SpeedCheck, TakesMoreSetsWhereTheyDisagree) {
  SetsOfProcesses slower({0.05, 0.01, 0.05, 0.05});
  EXPECT_TRUE(checkSpeed(slower, 0.02).slower);
  EXPECT_EQ(slower.set, 3u);
  SetsOfProcesses hidden({0.005, 0.05, 0.05, 0.05});
  EXPECT_TRUE(checkSpeed(hidden, 0.02).slower);
  SetsOfProcesses equal({0.05, 0.005, 0.005, 0.005});
  EXPECT_FALSE(checkSpeed(equal, 0.02).slower);
  EXPECT_EQ(equal.set, 3u);
  SetsOfProcesses faster({-0.01});
  EXPECT_FALSE(checkSpeed(faster, 0.02).slower);
  EXPECT_EQ(faster.set, 0u);
}

TEST(SpeedCheck, SaysThatAMachineIsTooNoisy) {
  int noisy = 0, alarms = 0;
  for (int run = 0; run < 20; ++run) {
    Noise noise;
    noise.process = 0.1;
    SimulatedProcesses processes(0, 70 + static_cast<std::uint64_t>(run), noise);
    const SpeedCheck check = checkSpeed(processes, 0.02);
    noisy += check.noisy ? 1 : 0;
    alarms += check.slower ? 1 : 0;
  }
  EXPECT_GT(noisy, 5);
  EXPECT_LE(alarms, 4);
}

TEST(MetricCheck, JudgesByWhatMayBeLost) {
  const auto judged = [](const char* name, double before, double after, bool higher, double drop) {
    bool pass = true;
    judgeMetrics({{name, before, higher, 100}}, {{name, after, higher, 100}}, drop, &pass);
    return pass;
  };
  EXPECT_TRUE(judged("top-1", 0.76, 0.755, true, 0.01));
  EXPECT_FALSE(judged("top-1", 0.76, 0.74, true, 0.01));
  EXPECT_TRUE(judged("top-1", 0.76, 0.80, true, 0));
  EXPECT_TRUE(judged("mse", 4, 4.03, false, 0.01));
  EXPECT_FALSE(judged("mse", 0.004, 0.005, false, 0.01));
  EXPECT_FALSE(judged("sqnr", 40, 30, true, 0.01));
  bool pass = true;
  EXPECT_EQ(judgeMetrics({{"top-1", 0.76, true, 100}}, {{"top-1", 0.5, true, 100}}, 0.01, &pass),
            "top-1 0.5, was 0.76: more than 0.01 lost");
}

}  // namespace
}  // namespace ipex_studio
