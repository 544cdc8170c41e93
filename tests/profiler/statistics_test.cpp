// Statistics against values computed by hand, and the bootstrap against cases whose answer is known.
#include "profiler/statistics.h"

#include <gtest/gtest.h>

namespace ipex_studio {
namespace {

using Samples = std::vector<std::int64_t>;
using Rounds = std::vector<std::int32_t>;

TEST(Statistics, PercentilesByNearestRank) {
  const Samples five = {15, 20, 35, 40, 50};
  EXPECT_EQ(percentile(five, 30), 20);
  EXPECT_EQ(percentile(five, 40), 20);
  EXPECT_EQ(percentile(five, 50), 35);
  EXPECT_EQ(percentile(five, 100), 50);
  EXPECT_EQ(percentile({7}, 1), 7);
}

TEST(Statistics, MedianOfEvenCountIsTheLowerMiddle) {
  EXPECT_EQ(median({4, 1, 3, 2}), 2);
  EXPECT_EQ(median({3, 1, 2}), 2);
  EXPECT_EQ(median({}), 0);
}

TEST(Statistics, SummaryOfOneToHundred) {
  Samples samples;
  for (std::int64_t i = 100; i >= 1; --i) samples.push_back(i);
  const LatencyStats stats = latencyStats(samples);
  EXPECT_EQ(stats.samples, 100);
  EXPECT_EQ(stats.min_ns, 1);
  EXPECT_EQ(stats.max_ns, 100);
  EXPECT_DOUBLE_EQ(stats.mean_ns, 50.5);
  EXPECT_EQ(stats.p50_ns, 50);
  EXPECT_EQ(stats.p90_ns, 90);
  EXPECT_EQ(stats.p95_ns, 95);
  EXPECT_EQ(stats.p99_ns, 99);
  EXPECT_EQ(latencyStats({}).samples, 0);
}

TEST(Statistics, RatioOfConstantsHasNoWidth) {
  const Interval interval = medianRatio({{200, 200, 200}, {}}, {{100, 100}, {}});
  EXPECT_DOUBLE_EQ(interval.value, 2.0);
  EXPECT_DOUBLE_EQ(interval.low, 2.0);
  EXPECT_DOUBLE_EQ(interval.high, 2.0);
}

TEST(Statistics, RatioOfNothingIsZero) {
  EXPECT_EQ(medianRatio({{}, {}}, {{1}, {}}).value, 0);
  EXPECT_EQ(medianRatio({{1}, {}}, {{}, {}}).value, 0);
}

TEST(Statistics, SameSeedSameInterval) {
  const Samples a = {11, 12, 13, 14, 15, 16};
  const Samples b = {5, 6, 7, 8, 9, 10};
  const Rounds none;
  const Interval first = medianRatio({a, none}, {b, none}, true, 42);
  const Interval second = medianRatio({a, none}, {b, none}, true, 42);
  EXPECT_EQ(first.low, second.low);
  EXPECT_EQ(first.high, second.high);
  EXPECT_LT(first.low, first.value);
  EXPECT_GT(first.high, first.value);
}

// The machine is twice as slow in every other round. Both variants are hit alike, so the paired ratio is exact while
// the unpaired one is not. Rounds may be numbered per variant or across both.
TEST(Statistics, PairedRoundsShareTheirNoise) {
  Samples a, b;
  Rounds even, odd;
  for (std::int32_t turn = 0; turn < 9; ++turn) {
    const std::int64_t slow = turn % 2 == 0 ? 1 : 2;
    for (int i = 0; i < 5; ++i) {
      a.push_back(300 * slow);
      b.push_back(100 * slow);
      even.push_back(2 * turn);
      odd.push_back(2 * turn + 1);
    }
  }
  const Interval paired = medianRatio({a, even}, {b, odd}, true, 1);
  EXPECT_DOUBLE_EQ(paired.low, 3.0);
  EXPECT_DOUBLE_EQ(paired.high, 3.0);
  const Interval independent = medianRatio({a, even}, {b, odd}, false, 1);
  EXPECT_LT(independent.low, 2.0);
  EXPECT_GT(independent.high, 5.0);
}

// Two rounds that disagree: resampling single samples would claim a precision that is not there.
TEST(Statistics, RoundsWidenTheInterval) {
  Samples a(20, 100);
  Samples b(20, 100);
  Rounds rounds(20, 0);
  for (std::size_t i = 10; i < 20; ++i) {
    rounds[i] = 1;
    b[i] = 50;
  }
  const Interval interval = medianRatio({a, rounds}, {b, rounds});
  EXPECT_DOUBLE_EQ(interval.low, 1.0);
  EXPECT_DOUBLE_EQ(interval.high, 2.0);
}

}  // namespace
}  // namespace ipex_studio
