// Linear layers of training against plain loops in double precision: odd sizes, both types, numbers of threads.
#include "kernels/training/linear_training.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "kernels/common/bf16.h"

namespace ipex_studio::kernel_test {
namespace {

using Values = std::vector<float>;

Values drawn(std::int64_t count, std::mt19937* random, bool bf16) {
  std::normal_distribution<float> normal;
  Values values(static_cast<std::size_t>(count));
  for (float& value : values) {
    value = normal(*random);
    if (bf16) value = bf16ToFloat(floatToBf16(value));
  }
  return values;
}

// Memory of a type from and to floats.
struct Memory {
  Memory(const Values& values, bool bf16) : bf16(bf16), floats(values), low(values.size()) {
    for (std::size_t i = 0; i < low.size(); ++i) low[i] = floatToBf16(values[i]);
  }
  void* data() { return bf16 ? static_cast<void*>(low.data()) : floats.data(); }
  double at(std::size_t i) const { return bf16 ? bf16ToFloat(low[i]) : floats[i]; }

  bool bf16;
  Values floats;
  std::vector<std::uint16_t> low;
};

struct LinearCase {
  std::int64_t rows, inputs, outputs;
};

TEST(LinearTrainingTest, IsRightForAllSizes) {
  for (const LinearCase c : {LinearCase{1, 1, 1}, {3, 17, 33}, {31, 100, 3}, {64, 64, 64}, {5, 257, 129}}) {
    for (const bool bf16 : {false, true}) {
      for (const std::int32_t threads : {1, 2}) {
        const LinearTraining linear({c.rows, c.inputs, c.outputs, threads, bf16});
        if (!linear.isQuick()) {
          EXPECT_TRUE(bf16 && !hasWideProducts());
          continue;
        }
        SCOPED_TRACE(testing::Message() << c.rows << " rows, " << c.inputs << " to " << c.outputs << " bf16 " << bf16
                                        << " threads " << threads);
        std::mt19937 random(5);
        const Values x = drawn(c.rows * c.inputs, &random, bf16), w = drawn(c.outputs * c.inputs, &random, bf16);
        const Values dy = drawn(c.rows * c.outputs, &random, bf16), bias = drawn(c.outputs, &random, false);
        Memory from(x, bf16), weights(w, bf16), gradient(dy, bf16);
        Memory y(Values(dy.size(), NAN), bf16), plain(y), dx(Values(x.size(), NAN), bf16);
        Values dw(w.size(), NAN), alone(w.size(), NAN), db(bias.size(), NAN);
        linear.forward(from.data(), weights.data(), bias.data(), y.data());
        linear.forward(from.data(), weights.data(), nullptr, plain.data());
        linear.sourceGradient(weights.data(), gradient.data(), dx.data());
        linear.weightGradient(from.data(), gradient.data(), dw.data(), db.data());
        linear.weightGradient(from.data(), gradient.data(), alone.data(), nullptr);
        EXPECT_EQ(dw, alone);
        std::vector<double> right_y(dy.size()), right_dx(x.size()), right_dw(w.size()), right_db(bias.size());
        for (std::int64_t r = 0; r < c.rows; ++r) {
          for (std::int64_t o = 0; o < c.outputs; ++o) {
            const auto out = static_cast<std::size_t>(r * c.outputs + o);
            right_db[static_cast<std::size_t>(o)] += dy[out];
            for (std::int64_t i = 0; i < c.inputs; ++i) {
              const auto in = static_cast<std::size_t>(r * c.inputs + i);
              const auto weight = static_cast<std::size_t>(o * c.inputs + i);
              right_y[out] += static_cast<double>(x[in]) * w[weight];
              right_dx[in] += static_cast<double>(dy[out]) * w[weight];
              right_dw[weight] += static_cast<double>(dy[out]) * x[in];
            }
          }
        }
        const double rounding = bf16 ? 1.0 / 256 : 0;
        const auto bound = [](std::int64_t summands) { return 2.4e-7 * static_cast<double>(8 + summands); };
        for (std::size_t i = 0; i < right_y.size(); ++i) {
          const double biased = right_y[i] + bias[i % bias.size()];
          ASSERT_NEAR(y.at(i), biased, bound(c.inputs) + rounding * std::abs(biased)) << i;
          ASSERT_NEAR(plain.at(i), right_y[i], bound(c.inputs) + rounding * std::abs(right_y[i])) << i;
        }
        for (std::size_t i = 0; i < right_dx.size(); ++i) {
          ASSERT_NEAR(dx.at(i), right_dx[i], bound(c.outputs) + rounding * std::abs(right_dx[i])) << i;
        }
        for (std::size_t i = 0; i < right_dw.size(); ++i) ASSERT_NEAR(dw[i], right_dw[i], bound(c.rows)) << i;
        for (std::size_t i = 0; i < right_db.size(); ++i) ASSERT_NEAR(db[i], right_db[i], bound(c.rows)) << i;
      }
    }
  }
}

TEST(LinearTrainingTest, HasTheSameBitsForAnyNumberOfThreads) {
  for (const LinearCase c : {LinearCase{4096, 64, 10}, {2048, 256, 300}, {3000, 33, 17}, {1000, 1024, 40}}) {
    for (const bool bf16 : {false, true}) {
      SCOPED_TRACE(testing::Message() << c.rows << " rows, " << c.inputs << " to " << c.outputs << " bf16 " << bf16);
      std::mt19937 random(7);
      Memory x(drawn(c.rows * c.inputs, &random, bf16), bf16), dy(drawn(c.rows * c.outputs, &random, bf16), bf16);
      std::vector<Values> dw, db;
      for (const std::int32_t threads : {1, 2, 4}) {
        const LinearTraining linear({c.rows, c.inputs, c.outputs, threads, bf16});
        if (!linear.isQuick()) continue;
        dw.emplace_back(static_cast<std::size_t>(c.inputs * c.outputs), NAN);
        db.emplace_back(static_cast<std::size_t>(c.outputs), NAN);
        linear.weightGradient(x.data(), dy.data(), dw.back().data(), db.back().data());
        EXPECT_EQ(dw.back(), dw.front()) << threads;
        EXPECT_EQ(db.back(), db.front()) << threads;
      }
    }
  }
}

}  // namespace
}  // namespace ipex_studio::kernel_test
