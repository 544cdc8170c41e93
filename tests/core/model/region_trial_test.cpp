// Two ways to compute the same by turns, on a made-up clock.
#include "core/model/region_trial.h"

#include <gtest/gtest.h>

namespace ipex_studio {
namespace {

// Two runs that take the times of lists, again and again.
class MadeUpRuns {
 public:
  MadeUpRuns(std::vector<std::int64_t> first_ns, std::vector<std::int64_t> second_ns)
      : times_{std::move(first_ns), std::move(second_ns)} {}

  std::optional<PairedTimes> time(std::int64_t budget_ns) {
    return timePair([&] { run(0); }, [&] { run(1); }, {budget_ns, [&] { return now_; }});
  }
  int runs(int which) const { return runs_[which]; }

 private:
  void run(int which) {
    const std::vector<std::int64_t>& times = times_[which];
    now_ += times[static_cast<std::size_t>(runs_[which]++) % times.size()];
  }

  std::vector<std::int64_t> times_[2];
  int runs_[2] = {0, 0};
  std::int64_t now_ = 0;
};

constexpr std::int64_t kEnough = 1'000'000'000;

TEST(RegionTrial, ALossIsSeen) {
  const auto times = MadeUpRuns({210, 205, 230}, {100, 104, 99}).time(kEnough);
  ASSERT_TRUE(times);
  EXPECT_TRUE(times->firstLoses());
  EXPECT_EQ(times->first_ns, 210);
  EXPECT_EQ(times->second_ns, 100);
  EXPECT_NEAR(times->ratio, 2.1, 0.2);
  EXPECT_LE(times->low, times->ratio);
  EXPECT_GE(times->high, times->ratio);
}

TEST(RegionTrial, AWinNeedsFewRuns) {
  MadeUpRuns runs({100}, {300});
  const auto times = runs.time(kEnough);
  ASSERT_TRUE(times);
  EXPECT_FALSE(times->firstLoses());
  EXPECT_LE(runs.runs(1), 6);
}

TEST(RegionTrial, EqualTimesAreNoLoss) {
  const auto times = MadeUpRuns({100, 103, 98}, {100, 101}).time(kEnough);
  ASSERT_TRUE(times);
  EXPECT_FALSE(times->firstLoses());
}

// The median of such ratios is far above one, but may as well lie below it.
TEST(RegionTrial, NoiseIsNoLoss) {
  const auto times = MadeUpRuns({100, 300, 90, 280, 95, 310, 80}, {200, 100, 210, 90, 190, 105, 220}).time(kEnough);
  ASSERT_TRUE(times);
  EXPECT_FALSE(times->firstLoses());
}

TEST(RegionTrial, TheBudgetIsKept) {
  MadeUpRuns dear({1000}, {500});
  EXPECT_FALSE(dear.time(2900));
  EXPECT_LE(dear.runs(0), 2);
  EXPECT_EQ(dear.runs(1), 0) << "what costs too much is not tried at all";

  EXPECT_TRUE(MadeUpRuns({9000, 100, 100, 100}, {50}).time(20000)) << "one disturbed run ends no trial";

  MadeUpRuns runs({1000}, {900});
  ASSERT_TRUE(runs.time(16000));
  EXPECT_LE(runs.runs(0) * 1000 + runs.runs(1) * 900, 16000);

  EXPECT_FALSE(MadeUpRuns({1000}, {900}).time(8500)) << "few turns tell no small loss";
  const auto heavy = MadeUpRuns({1000}, {10}).time(5000);
  ASSERT_TRUE(heavy) << "few turns tell a heavy one";
  EXPECT_TRUE(heavy->firstLoses());

  MadeUpRuns slow_start({100}, {90000, 100});
  EXPECT_FALSE(slow_start.time(10000)) << "too few turns are left to say anything";
}

}  // namespace
}  // namespace ipex_studio
