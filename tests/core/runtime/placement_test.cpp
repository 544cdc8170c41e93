// Steps on two sides with copies between them: against all ways to place up to ten steps.
#include "core/runtime/placement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

namespace ipex_studio {
namespace {

PlacementProblem randomProblem(std::mt19937& random) {
  const auto below = [&](int bound) { return static_cast<int>(random() % static_cast<unsigned>(bound)); };
  PlacementProblem problem;
  const int steps = 2 + below(9);
  for (int s = 0; s < steps; ++s) problem.steps.push_back({below(3) > 0, 10.0 * below(20)});
  for (int v = 0; v < steps + 2; ++v) {
    const int maker = v < 2 ? -1 : v - 2;
    std::set<std::int32_t> readers;
    for (int r = 0; maker + 1 < steps && r < 1 + below(3); ++r) readers.insert(maker + 1 + below(steps - maker - 1));
    if (readers.empty() || below(5) == 0) readers.insert(-1);
    problem.values.push_back({maker, {readers.begin(), readers.end()}, 5.0 + below(60)});
  }
  return problem;
}

// Infinite where a step is on the device that has no kernel for it.
double costOf(const PlacementProblem& problem, const std::vector<bool>& on_host) {
  double cost = 0;
  for (std::size_t s = 0; s < on_host.size(); ++s) {
    if (!on_host[s] && !problem.steps[s].on_device) return 1e30;
    cost += on_host[s] ? problem.steps[s].host_ns : 0;
  }
  const auto isOnHost = [&](std::int32_t step) { return step < 0 || on_host[static_cast<std::size_t>(step)]; };
  for (const PlacementProblem::Value& value : problem.values) {
    const bool copied = std::any_of(value.readers.begin(), value.readers.end(),
                                    [&](std::int32_t reader) { return isOnHost(reader) != isOnHost(value.maker); });
    cost += copied ? value.copy_ns : 0;
  }
  return cost;
}

TEST(Placement, CostsTheLeastOfAllWays) {
  std::mt19937 random(7);
  int moved = 0;
  for (int round = 0; round < 500; ++round) {
    const PlacementProblem problem = randomProblem(random);
    std::vector<bool> before;
    for (const auto& step : problem.steps) before.push_back(!step.on_device);
    const bool is_mixed = std::find(before.begin(), before.end(), true) != before.end() &&
                          std::find(before.begin(), before.end(), false) != before.end();
    if (!is_mixed) continue;
    const std::vector<bool> placed = placeOnHost(problem);
    moved += placed != before;
    const double cost = costOf(problem, placed);
    ASSERT_LE(cost, costOf(problem, before) + 1e-9);
    double least = 1e30;
    for (std::uint32_t way = 0; way < (1u << before.size()); ++way) {
      std::vector<bool> on_host;
      for (std::size_t s = 0; s < before.size(); ++s) on_host.push_back((way >> s & 1) != 0);
      const bool any_left = std::find(on_host.begin(), on_host.end(), false) != on_host.end();
      if (any_left) least = std::min(least, costOf(problem, on_host));
    }
    // Nothing is moved where the least of all would leave nothing on the device.
    const double all_on_host = costOf(problem, std::vector<bool>(before.size(), true));
    if (all_on_host > least + 1e-9) {
      ASSERT_NEAR(cost, least, 1e-9) << "round " << round;
    }
  }
  EXPECT_GT(moved, 50);
}

TEST(Placement, NothingMovesWhereTheDeviceComputesAll) {
  PlacementProblem problem;
  problem.steps = {{true, 1}, {true, 1}};
  problem.values = {{-1, {0}, 100}, {0, {1}, 100}, {1, {-1}, 100}};
  EXPECT_EQ(placeOnHost(problem), (std::vector<bool>{false, false}));
}

// What the host would compute sooner than copy, were it not all that the device has.
TEST(Placement, TheDeviceIsNotLeftEmpty) {
  PlacementProblem problem;
  problem.steps = {{true, 1}, {false, 1}};
  problem.values = {{-1, {0}, 100}, {0, {1}, 100}, {1, {-1}, 100}};
  EXPECT_EQ(placeOnHost(problem), (std::vector<bool>{false, true}));
}

}  // namespace
}  // namespace ipex_studio
