// Attention to scattered keys and values: every instruction set in FP32, and with BF16 caches, against the plain
// version in FP64; and the same bits for any number of threads.
#include "kernels/attention/cached_attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <type_traits>
#include <vector>

#include "core/runtime/device.h"
#include "kernels/common/bf16.h"

namespace ipex_studio {
namespace {

constexpr std::int64_t kTexts = 3, kQueries = 2, kSlots = 150;

struct CachedShape {
  std::int64_t key_heads, group, depth, width, window = 0;
  double softcap = 0;
  bool masked = false, sloped = false;
};

// Numbers that BF16 holds.
template <typename T>
std::vector<T> roundedNumbers(std::int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<T> numbers(static_cast<std::size_t>(count));
  for (T& number : numbers) {
    const std::uint16_t bits = floatToBf16(normal(random));
    if constexpr (std::is_same_v<T, std::uint16_t>) {
      number = bits;
    } else {
      number = bf16ToFloat(bits);
    }
  }
  return numbers;
}

template <typename T, typename C>
struct CachedProblem {
  CachedJob job;
  std::vector<T> q, mask, slopes, y;
  std::vector<C> k, v;
  std::vector<std::int64_t> k_places, v_places, lengths{1, 2, 40, 41, 0, 129};

  explicit CachedProblem(const CachedShape& shape) {
    job.texts = kTexts;
    job.queries = kQueries;
    job.key_heads = shape.key_heads;
    job.group = shape.group;
    job.depth = shape.depth;
    job.width = shape.width;
    job.window = shape.window;
    job.softcap = shape.softcap;
    job.scale = 0.3;
    job.q_head = shape.depth;
    job.q_query = job.queryHeads() * shape.depth;
    job.q_text = kQueries * job.q_query;
    job.k_head = shape.depth;
    job.v_head = shape.width;
    job.places_stride = kSlots;
    job.lengths = lengths.data();
    q = roundedNumbers<T>(1 + kTexts * job.q_text, 1);
    k = roundedNumbers<C>(1 + kSlots * shape.key_heads * shape.depth, 2);
    v = roundedNumbers<C>(1 + kSlots * shape.key_heads * shape.width, 3);
    y.assign(static_cast<std::size_t>(kTexts * kQueries * job.queryHeads() * shape.width), T(7));
    if (shape.masked) mask = roundedNumbers<T>(kTexts * kQueries * kSlots, 4);
    if (shape.sloped) slopes = roundedNumbers<T>(job.queryHeads(), 5);
    for (std::int64_t text = 0; text < kTexts; ++text) {
      std::vector<std::int64_t> order(kSlots);
      std::iota(order.begin(), order.end(), 0);
      std::shuffle(order.begin(), order.end(), std::mt19937(static_cast<unsigned>(text)));
      for (const std::int64_t slot : order) {
        k_places.push_back(slot * shape.key_heads * shape.depth);
        v_places.push_back(slot * shape.key_heads * shape.width);
      }
    }
    job.k_places = k_places.data();
    job.v_places = v_places.data();
  }

  CachedOperands<T, C> operands() const {
    CachedOperands<T, C> from;
    from.q = q.data() + 1;
    from.k = k.data() + 1;
    from.v = v.data() + 1;
    from.mask = mask.empty() ? nullptr : mask.data();
    from.mask_text = kQueries * kSlots;
    from.mask_query = kSlots;
    from.slopes = slopes.empty() ? nullptr : slopes.data();
    return from;
  }

  CachedProblem& compute(std::int32_t threads) {
    attendToCache<T, C>(job, operands(), y.data(), threads);
    return *this;
  }
};

template <typename C>
void expectDefinition(const CachedShape& shape) {
  CachedProblem<double, double> exact(shape);
  CachedProblem<float, C> fast(shape);
  exact.compute(2);
  fast.compute(2);
  for (std::size_t i = 0; i < fast.y.size(); ++i) ASSERT_NEAR(static_cast<double>(fast.y[i]), exact.y[i], 4e-6);
  const Buffer scratch(static_cast<std::size_t>(cachedScratchFloats(fast.job, kSlots)) * sizeof(float));
  for (const char* isa : {"avx512_core", "avx2", "sse41"}) {
    std::vector<float> y(static_cast<std::size_t>(shape.group * shape.width));
    cachedAttentionSimd<C>(isa)(fast.job, fast.operands(), 2, 1, 0, y.data(), static_cast<float*>(scratch.data()));
    const std::size_t at = fast.y.size() - static_cast<std::size_t>(shape.key_heads) * y.size();
    for (std::size_t i = 0; i < y.size(); ++i) ASSERT_NEAR(static_cast<double>(y[i]), exact.y[at + i], 4e-6) << isa;
  }
}

TEST(CachedAttention, IsTheDefinition) {
  const CachedShape shapes[] = {{1, 1, 3, 17},
                                {2, 1, 33, 100},
                                {2, 3, 64, 64},
                                {1, 4, 129, 3, 30},
                                {2, 2, 40, 8, 0, 0.7},
                                {2, 1, 16, 16, 0, 0, true},
                                {1, 2, 17, 33, 7, 2, true, true}};
  for (const CachedShape& shape : shapes) {
    SCOPED_TRACE(testing::Message() << "depth " << shape.depth << ", width " << shape.width);
    expectDefinition<float>(shape);
    expectDefinition<std::uint16_t>(shape);
  }
}

TEST(CachedAttention, BitsDoNotDependOnThreads) {
  const CachedShape shape{4, 2, 64, 64, 0, 0, true};
  CachedProblem<float, float> one(shape);
  one.compute(1);
  for (const std::int32_t threads : {2, 4}) EXPECT_EQ(one.y, (CachedProblem<float, float>(shape).compute(threads).y));
}

}  // namespace
}  // namespace ipex_studio
