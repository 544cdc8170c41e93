// The arena: buffers alive at the same time never overlap, and the arena is not much larger than necessary.
#include "core/plan/memory_planner.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/core/op/random_spec.h"

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

void expectApart(const std::vector<BufferLifetime>& buffers, std::size_t arena) {
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const BufferLifetime& a = buffers[i];
    ASSERT_EQ(a.offset % 64, 0);
    ASSERT_LE(static_cast<std::size_t>(a.offset) + a.bytes, arena);
    for (std::size_t j = 0; j < i; ++j) {
      const BufferLifetime& b = buffers[j];
      const bool together = a.first_step <= b.last_step && b.first_step <= a.last_step && a.bytes > 0 && b.bytes > 0;
      const bool apart = a.offset + static_cast<std::int64_t>(a.bytes) <= b.offset ||
                         b.offset + static_cast<std::int64_t>(b.bytes) <= a.offset;
      ASSERT_TRUE(!together || apart) << i << " and " << j;
    }
  }
}

std::vector<BufferLifetime> randomLifetimes(testing::Random& random, std::size_t count, int steps, int longest) {
  std::vector<BufferLifetime> buffers(count);
  for (BufferLifetime& b : buffers) {
    b.bytes = random.chance(10) ? 0 : static_cast<std::size_t>(random.between(1, 5000));
    b.first_step = static_cast<std::int32_t>(random.between(0, steps - 1));
    b.last_step =
        static_cast<std::int32_t>(std::min<std::int64_t>(steps - 1, b.first_step + random.between(0, longest)));
  }
  return buffers;
}

TEST(MemoryPlanner, RandomLifetimes) {
  testing::Random random(3);
  for (int round = 0; round < 300; ++round) {
    const int steps = static_cast<int>(random.between(1, 40));
    std::vector<BufferLifetime> buffers = randomLifetimes(random, random.index(60), steps, round % 3 == 0 ? 40 : 6);
    const std::size_t bound = largestLiveSum(buffers, steps);
    const std::size_t arena = planMemory(buffers);
    ASSERT_GE(arena, bound);
    ASSERT_LE(arena, bound * 2 + 64);
    expectApart(buffers, arena);
    const std::size_t by_time = planMemoryByTime(buffers);
    ASSERT_GE(by_time, bound);
    expectApart(buffers, by_time);
  }
}

// The greedy algorithm in its plain form: every buffer against every placed one.
std::size_t planMemoryPlainly(std::vector<BufferLifetime>& buffers) {
  std::vector<BufferLifetime*> by_size, placed;
  for (BufferLifetime& b : buffers) by_size.push_back(&b);
  std::stable_sort(by_size.begin(), by_size.end(), [](const auto* a, const auto* b) { return a->bytes > b->bytes; });
  std::int64_t arena = 0;
  for (BufferLifetime* buffer : by_size) {
    const auto size = static_cast<std::int64_t>(aligned(buffer->bytes));
    std::int64_t best = -1, best_gap = std::int64_t{1} << 60, end = 0;
    std::sort(placed.begin(), placed.end(), [](const auto* a, const auto* b) { return a->offset < b->offset; });
    for (const BufferLifetime* other : placed) {
      if (buffer->first_step > other->last_step || other->first_step > buffer->last_step) continue;
      const std::int64_t gap = other->offset - end;
      if (gap >= size && gap < best_gap) {
        best = end;
        best_gap = gap;
      }
      end = std::max(end, other->offset + static_cast<std::int64_t>(aligned(other->bytes)));
    }
    buffer->offset = best >= 0 ? best : end;
    arena = std::max(arena, buffer->offset + size);
    placed.push_back(buffer);
  }
  return static_cast<std::size_t>(arena);
}

TEST(MemoryPlanner, NoLargerThanThePlainGreedy) {
  testing::Random random(4);
  for (int round = 0; round < 100; ++round) {
    const int steps = static_cast<int>(random.between(1, 300));
    std::vector<BufferLifetime> buffers = randomLifetimes(random, random.index(500), steps, round % 2 == 0 ? 8 : 200);
    std::vector<BufferLifetime> plain = buffers;
    const std::size_t expected = planMemoryPlainly(plain);
    ASSERT_LE(static_cast<double>(planMemory(buffers)), 1.02 * static_cast<double>(expected)) << round;
  }
}

TEST(MemoryPlanner, FallsBackWhereTooManyLiveTogether) {
  testing::Random random(5);
  std::vector<BufferLifetime> buffers = randomLifetimes(random, 400, 50, 50);
  std::size_t arena = 0;
  EXPECT_FALSE(planMemoryBySize(buffers, 1000, &arena));
  EXPECT_TRUE(planMemoryBySize(buffers, 400 * 400, &arena));
  expectApart(buffers, arena);
  const std::size_t by_time = planMemoryByTime(buffers);
  EXPECT_LE(static_cast<double>(by_time), 1.25 * static_cast<double>(largestLiveSum(buffers, 50)));
}

// Quadratic work would take minutes here and run into the tests' time limit.
TEST(MemoryPlanner, FiftyThousandBuffers) {
  testing::Random random(6);
  std::vector<BufferLifetime> chain = randomLifetimes(random, 50000, 50000, 8);
  EXPECT_LE(planMemory(chain), 2 * largestLiveSum({chain.begin(), chain.begin() + 1000}, 50000) + 500000);
  std::vector<BufferLifetime> wide = randomLifetimes(random, 50000, 50000, 50000);
  EXPECT_GT(planMemory(wide), 0u);
}

}  // namespace
}  // namespace ipex_studio
