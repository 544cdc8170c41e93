// Rotary embedding and gated units: every instruction set in FP32 against the plain version in FP64, the gradient of
// units against differences, the rotation back, and the same bits for any number of threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "kernels/pointwise/gated.h"
#include "kernels/pointwise/rotary.h"

namespace ipex_studio {
namespace {

template <typename T>
std::vector<T> normalNumbers(std::int64_t count, unsigned seed, float factor = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<T> numbers(static_cast<std::size_t>(count));
  for (T& number : numbers) number = factor * normal(random);
  return numbers;
}

template <typename T>
RotaryJob<T> rotaryJob(const std::vector<T>& sines, const std::vector<T>& cosines, std::int64_t width,
                       std::int64_t rotated, bool interleaved, bool back) {
  RotaryJob<T> job;
  job.tokens = 7;
  job.heads = 3;
  job.width = width;
  job.rotated = rotated;
  job.interleaved = interleaved;
  job.back = back;
  job.sines = sines.data() + 1;
  job.cosines = cosines.data() + 1;
  job.table_stride = rotated / 2;
  static constexpr std::int64_t kPositions[] = {0, 1, 2, 3, 4, 0, 1};
  job.positions = kPositions;
  job.token_stride = 3 * width;
  job.head_stride = width;
  return job;
}

TEST(Rotary, EveryInstructionSetIsTheDefinition) {
  for (const std::int64_t width : {2, 3, 17, 33, 100, 129}) {
    for (const std::int64_t rotated : {std::int64_t{0}, width / 4 * 2, width / 2 * 2}) {
      for (const bool interleaved : {false, true}) {
        for (const bool back : {false, true}) {
          const auto x = normalNumbers<float>(1 + 21 * width, 1), sines = normalNumbers<float>(1 + 5 * rotated / 2, 2),
                     cosines = normalNumbers<float>(1 + 5 * rotated / 2, 3);
          const auto x64 = normalNumbers<double>(1 + 21 * width, 1),
                     sines64 = normalNumbers<double>(1 + 5 * rotated / 2, 2),
                     cosines64 = normalNumbers<double>(1 + 5 * rotated / 2, 3);
          std::vector<float> y(x.size(), 7.0f);
          std::vector<double> expected(x.size(), 7.0);
          const auto job = rotaryJob<float>(sines, cosines, width, rotated, interleaved, back);
          rotateHeads<double>(rotaryJob<double>(sines64, cosines64, width, rotated, interleaved, back), x64.data() + 1,
                              expected.data() + 1, 2);
          rotateHeads<float>(job, x.data() + 1, y.data() + 1, 2);
          for (std::size_t i = 0; i < y.size(); ++i) ASSERT_NEAR(static_cast<double>(y[i]), expected[i], 4e-6);
          for (const char* isa : {"avx512_core", "avx2", "sse41"}) {
            rotateTokenSimd(isa)(job, job.sines, job.cosines, x.data() + 1, y.data() + 1);
            for (std::size_t i = 0; i < static_cast<std::size_t>(1 + 3 * width); ++i)
              ASSERT_NEAR(static_cast<double>(y[i]), expected[i], 4e-6) << isa;
          }
        }
      }
    }
  }
}

TEST(Rotary, RotatingBackUndoesIt) {
  const std::int64_t width = 16;
  std::vector<double> sines(1 + 5 * width / 2), cosines(sines.size());
  for (std::size_t i = 0; i < sines.size(); ++i) {
    sines[i] = std::sin(static_cast<double>(i));
    cosines[i] = std::cos(static_cast<double>(i));
  }
  const auto x = normalNumbers<double>(21 * width, 1);
  for (const bool interleaved : {false, true}) {
    std::vector<double> y = x;
    rotateHeads<double>(rotaryJob<double>(sines, cosines, width, width, interleaved, false), y.data(), y.data(), 1);
    rotateHeads<double>(rotaryJob<double>(sines, cosines, width, width, interleaved, true), y.data(), y.data(), 4);
    for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(y[i], x[i], 1e-14);
  }
}

constexpr Gate kGates[] = {Gate::kSilu, Gate::kGelu, Gate::kGeluTanh, Gate::kRelu};

TEST(GatedUnits, EveryInstructionSetIsTheDefinition) {
  for (const Gate gate : kGates) {
    for (const std::int64_t width : {1, 3, 17, 33, 100, 129}) {
      const auto x = normalNumbers<float>(1 + width, 1, 4), up = normalNumbers<float>(1 + width, 2),
                 of_y = normalNumbers<float>(1 + width, 3);
      const std::vector<double> x64(x.begin(), x.end()), up64(up.begin(), up.end()), of_y64(of_y.begin(), of_y.end());
      std::vector<double> y64(x.size()), of_x64(x.size()), of_up64(x.size());
      gatedMathRef().forward(gate, x64.data(), up64.data(), y64.data(), width + 1);
      gatedMathRef().gradient(gate, x64.data(), up64.data(), of_y64.data(), of_x64.data(), of_up64.data(), width + 1);
      for (const char* isa : {"avx512_core", "avx2", "sse41"}) {
        const GatedMath<float> math = gatedMathSimd(isa);
        std::vector<float> y(x.size()), of_x(x.size()), of_up(x.size());
        math.forward(gate, x.data() + 1, up.data() + 1, y.data() + 1, width);
        math.gradient(gate, x.data() + 1, up.data() + 1, of_y.data() + 1, of_x.data() + 1, of_up.data() + 1, width);
        for (std::size_t i = 1; i < x.size(); ++i) {
          ASSERT_NEAR(static_cast<double>(y[i]), y64[i], 8e-6) << isa;
          ASSERT_NEAR(static_cast<double>(of_x[i]), of_x64[i], 8e-6) << isa;
          ASSERT_NEAR(static_cast<double>(of_up[i]), of_up64[i], 8e-6) << isa;
        }
      }
    }
  }
}

TEST(GatedUnits, ThePlainGradientIsThatOfDifferences) {
  for (const Gate gate : kGates) {
    for (const double x : {-3.1, -0.4, 0.2, 2.7}) {
      const double up = 1.7, of_y = 0.6, step = 1e-6, above = x + step, below = x - step;
      double of_x = 0, of_up = 0, y_above = 0, y_below = 0;
      gatedMathRef().gradient(gate, &x, &up, &of_y, &of_x, &of_up, 1);
      gatedMathRef().forward(gate, &above, &up, &y_above, 1);
      gatedMathRef().forward(gate, &below, &up, &y_below, 1);
      EXPECT_NEAR(of_x, of_y * (y_above - y_below) / (2 * step), 1e-8);
    }
  }
}

TEST(GatedUnits, HalvesOfRowsAndBitsForAnyNumberOfThreads) {
  GatedJob job;
  job.rows = 30;
  job.width = 5000;
  job.gate_stride = job.up_stride = 2 * job.width;
  const auto both = normalNumbers<float>(2 * job.rows * job.width, 1),
             of_y = normalNumbers<float>(job.rows * job.width, 2);
  const auto run = [&](std::int32_t threads) {
    std::vector<float> results(static_cast<std::size_t>(3 * job.rows * job.width));
    float *const y = results.data(), *const of_gate = y + job.rows * job.width,
                 *const of_up = of_gate + job.rows * job.width;
    gatedUnits<float>(job, both.data(), both.data() + job.width, y, threads);
    gatedUnitsGradient<float>(job, both.data(), both.data() + job.width, of_y.data(), of_gate, of_up, threads);
    return results;
  };
  const std::vector<float> one = run(1);
  EXPECT_EQ(one, run(2));
  EXPECT_EQ(one, run(4));
  const double x = static_cast<double>(both[static_cast<std::size_t>(2 * job.width + 3)]);
  EXPECT_NEAR(static_cast<double>(one[static_cast<std::size_t>(job.width + 3)]),
              x / (1 + std::exp(-x)) * static_cast<double>(both[static_cast<std::size_t>(3 * job.width + 3)]), 1e-5);
}

}  // namespace
}  // namespace ipex_studio
