// Attention with gradients: FP32 against the plain version in FP64, gradients of that against differences, and the same
// bits for any number of threads.
#include "kernels/attention/flash_attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "core/runtime/device.h"
#include "tests/kernels/random_numbers.h"

namespace ipex_studio {
namespace {

using kernel_test::randomNumbers;

constexpr double kInf = std::numeric_limits<double>::infinity();

enum class Masked { kNone, kFull, kOfKeys, kNoKeys };

struct Shape {
  std::int64_t texts, key_heads, group, queries, keys, depth, width;
  bool causal = false;
  Masked masked = Masked::kNone;
};

// Operands and results. Values lie one element off any alignment.
template <typename T>
struct FlashRun {
  FlashJob job;
  std::vector<T> q, k, v, mask, y, logarithms, of_y, of_q, of_k, of_v;

  explicit FlashRun(const Shape& shape) {
    job.texts = shape.texts;
    job.key_heads = shape.key_heads;
    job.group = shape.group;
    job.queries = shape.queries;
    job.keys = shape.keys;
    job.depth = shape.depth;
    job.width = shape.width;
    job.causal = shape.causal;
    job.scale = 0.3;
    const std::int64_t heads = job.queryHeads();
    // Tokens before heads, as projections write them.
    job.q = {job.queries * heads * job.depth, job.depth, heads * job.depth};
    job.k = {job.key_heads * job.keys * job.depth, job.keys * job.depth, job.depth};
    job.v = {job.key_heads * job.keys * job.width, job.keys * job.width, job.width};
    q = randomNumbers<T>(1 + job.texts * job.q.text, 1);
    k = randomNumbers<T>(1 + job.texts * job.k.text, 2);
    v = randomNumbers<T>(1 + job.texts * job.v.text, 3);
    of_y = randomNumbers<T>(1 + job.texts * heads * job.queries * job.width, 4);
    y.assign(of_y.size(), T(7));
    logarithms.assign(static_cast<std::size_t>(job.texts * heads * job.queries), T(7));
    of_q.assign(q.size(), T(7));
    of_k.assign(k.size(), T(7));
    of_v.assign(v.size(), T(7));
    if (shape.masked != Masked::kNone) setMask(shape.masked);
  }

  void setMask(Masked masked) {
    const bool full = masked != Masked::kOfKeys;
    job.has_mask = true;
    job.mask = {full ? job.queries * job.keys : 0, 0, full ? job.keys : 0};
    job.mask_column = 1;
    mask = randomNumbers<T>(job.texts * job.queries * job.keys, 5);
    for (std::size_t i = 0; i < mask.size(); i += 3) mask[i] = static_cast<T>(-kInf);
    // The first query of each text sees nothing.
    for (std::int64_t text = 0; masked == Masked::kNoKeys && text < job.texts; ++text) {
      std::fill_n(mask.begin() + text * job.queries * job.keys, job.keys, static_cast<T>(-kInf));
    }
  }

  FlashOperands<T> operands() const {
    return {q.data() + 1, k.data() + 1, v.data() + 1, job.has_mask ? mask.data() : nullptr};
  }

  FlashRun& compute(std::int32_t threads) {
    attend<T>(job, operands(), y.data() + 1, logarithms.data(), threads);
    attendGradient<T>(job, operands(), y.data() + 1, logarithms.data(), of_y.data() + 1,
                      {of_q.data() + 1, of_k.data() + 1, of_v.data() + 1}, threads);
    return *this;
  }

  // Σ of_y · y.
  double product() {
    attend<T>(job, operands(), y.data() + 1, logarithms.data(), 1);
    double sum = 0;
    for (std::size_t i = 1; i < y.size(); ++i) sum += static_cast<double>(y[i]) * static_cast<double>(of_y[i]);
    return sum;
  }
};

template <typename T>
double largestDifference(const std::vector<T>& a, const std::vector<double>& b) {
  double largest = 0, most = 1;
  for (std::size_t i = 1; i < a.size(); ++i) {
    if (std::isinf(b[i]) && a[i] == static_cast<T>(b[i])) continue;
    const double difference = std::abs(static_cast<double>(a[i]) - b[i]);
    if (!(difference <= largest)) largest = difference;
    most = std::max(most, std::abs(b[i]));
  }
  return largest / most;
}

const std::vector<Shape>& shapes() {
  static const std::vector<Shape> all = {
      {1, 1, 1, 1, 1, 1, 1},
      {2, 2, 1, 3, 5, 3, 17},
      {1, 2, 3, 17, 33, 33, 3},
      {2, 1, 2, 100, 129, 64, 64},
      {1, 3, 1, 129, 100, 100, 129, true},
      {1, 2, 2, 257, 257, 64, 33, true},
      {2, 2, 1, 65, 300, 17, 100, false, Masked::kFull},
      {2, 1, 2, 70, 130, 64, 64, true, Masked::kFull},
      {2, 1, 2, 70, 130, 64, 64, false, Masked::kOfKeys},
      {2, 2, 1, 66, 121, 32, 48, false, Masked::kNoKeys},
      {1, 1, 1, 2, 40, 8, 8, false, Masked::kNoKeys},
      {1, 1, 1, 40, 3, 8, 8, true},
      {1, 1, 2, 130, 129, 33, 100, true, Masked::kFull},
      {1, 1, 1, 100, 129, 129, 17},
  };
  return all;
}

TEST(FlashAttention, Fp32IsTheDefinition) {
  for (const Shape& shape : shapes()) {
    SCOPED_TRACE(testing::Message() << shape.queries << " queries, " << shape.keys << " keys, depth " << shape.depth);
    FlashRun<float> fast(shape);
    FlashRun<double> exact(shape);
    fast.compute(2);
    exact.compute(2);
    EXPECT_LT(largestDifference(fast.y, exact.y), 2e-6);
    EXPECT_LT(largestDifference(fast.logarithms, exact.logarithms), 2e-6);
    EXPECT_LT(largestDifference(fast.of_q, exact.of_q), 5e-6);
    EXPECT_LT(largestDifference(fast.of_k, exact.of_k), 5e-6);
    EXPECT_LT(largestDifference(fast.of_v, exact.of_v), 5e-6);
  }
}

TEST(FlashAttention, EveryInstructionSetGivesTheGradient) {
  for (const Shape& shape : shapes()) {
    if (shape.texts * shape.key_heads != 1) continue;
    FlashRun<float> run(shape);
    FlashRun<double> exact(shape);
    exact.compute(1);
    run.compute(1);
    for (const char* isa : {"avx512_core", "avx2", "sse41"}) {
      const HeadGradientSimd simd = headGradientSimd(isa);
      const Buffer scratch(static_cast<std::size_t>(simd.scratch_floats(run.job)) * sizeof(float));
      simd.run(run.job,
               {run.operands(),
                run.y.data() + 1,
                run.logarithms.data(),
                run.of_y.data() + 1,
                {run.of_q.data() + 1, run.of_k.data() + 1, run.of_v.data() + 1}},
               static_cast<float*>(scratch.data()));
      EXPECT_LT(largestDifference(run.of_q, exact.of_q), 5e-6) << isa;
      EXPECT_LT(largestDifference(run.of_k, exact.of_k), 5e-6) << isa;
      EXPECT_LT(largestDifference(run.of_v, exact.of_v), 5e-6) << isa;
    }
  }
}

TEST(FlashAttention, ThePlainGradientIsThatOfDifferences) {
  FlashRun<double> run({2, 1, 2, 5, 7, 3, 4, true, Masked::kFull});
  run.compute(1);
  constexpr double kStep = 1e-6;
  const auto check = [&](std::vector<double>& values, const std::vector<double>& gradient, bool swapped) {
    for (std::size_t i = 1; i < values.size(); ++i) {
      // Queries lie token by token, gradients head by head.
      std::size_t place = i - 1;
      if (swapped) {
        const std::int64_t e = static_cast<std::int64_t>(i) - 1, heads = run.job.queryHeads();
        const std::int64_t d = e % run.job.depth, h = e / run.job.depth % heads,
                           s = e / (run.job.depth * heads) % run.job.queries, b = e / run.job.q.text;
        place = static_cast<std::size_t>(((b * heads + h) * run.job.queries + s) * run.job.depth + d);
      }
      const double before = values[i];
      values[i] = before + kStep;
      const double above = run.product();
      values[i] = before - kStep;
      const double below = run.product();
      values[i] = before;
      EXPECT_NEAR(gradient[place + 1], (above - below) / (2 * kStep), 1e-7);
    }
  };
  check(run.q, run.of_q, true);
  check(run.k, run.of_k, false);
  check(run.v, run.of_v, false);
}

TEST(FlashAttention, BitsDoNotDependOnThreads) {
  const Shape shape{2, 3, 2, 150, 260, 40, 24, true, Masked::kFull};
  FlashRun<float> one(shape);
  one.compute(1);
  for (const std::int32_t threads : {2, 4}) {
    FlashRun<float> more(shape);
    more.compute(threads);
    EXPECT_EQ(one.y, more.y);
    EXPECT_EQ(one.of_q, more.of_q);
    EXPECT_EQ(one.of_k, more.of_k);
    EXPECT_EQ(one.of_v, more.of_v);
  }
}

}  // namespace
}  // namespace ipex_studio
