// The arena: buffers alive at the same time never overlap, and it is not much larger than it must be.
#include "core/plan/memory_planner.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "random_spec.h"

namespace ipex_studio {
namespace {

std::size_t aligned(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

std::size_t largestLiveSum(const std::vector<BufferLifetime>& buffers, int steps) {
  std::size_t most = 0;
  for (int step = 0; step < steps; ++step) {
    std::size_t sum = 0;
    for (const BufferLifetime& b : buffers) sum += b.first_step <= step && step <= b.last_step ? aligned(b.bytes) : 0;
    most = std::max(most, sum);
  }
  return most;
}

TEST(MemoryPlanner, NothingNeedsNothing) {
  std::vector<BufferLifetime> none;
  EXPECT_EQ(planMemory(none), 0u);
}

TEST(MemoryPlanner, ReusesWhatDied) {
  std::vector<BufferLifetime> chain{{1000, 0, 1}, {1000, 1, 2}, {1000, 2, 3}, {1000, 3, 4}};
  EXPECT_EQ(planMemory(chain), 2048u);
  EXPECT_EQ(chain[0].offset, chain[2].offset);
}

TEST(MemoryPlanner, RandomLifetimes) {
  testing::Random random(3);
  for (int round = 0; round < 300; ++round) {
    const int steps = static_cast<int>(random.between(1, 40));
    std::vector<BufferLifetime> buffers(random.index(60));
    for (BufferLifetime& b : buffers) {
      b.bytes = random.chance(10) ? 0 : static_cast<std::size_t>(random.between(1, 5000));
      b.first_step = static_cast<std::int32_t>(random.between(0, steps - 1));
      b.last_step = static_cast<std::int32_t>(std::min<std::int64_t>(steps - 1, b.first_step + random.between(0, 6)));
    }
    const std::size_t arena = planMemory(buffers);
    const std::size_t bound = largestLiveSum(buffers, steps);
    ASSERT_GE(arena, bound);
    ASSERT_LE(arena, bound * 2 + 64);
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      const BufferLifetime& a = buffers[i];
      ASSERT_EQ(a.offset % 64, 0);
      ASSERT_LE(static_cast<std::size_t>(a.offset) + a.bytes, arena);
      for (std::size_t j = 0; j < i; ++j) {
        const BufferLifetime& b = buffers[j];
        const bool together = a.first_step <= b.last_step && b.first_step <= a.last_step && a.bytes > 0 && b.bytes > 0;
        const bool apart = a.offset + static_cast<std::int64_t>(a.bytes) <= b.offset || b.offset + static_cast<std::int64_t>(b.bytes) <= a.offset;
        ASSERT_TRUE(!together || apart) << round;
      }
    }
  }
}

}  // namespace
}  // namespace ipex_studio
