// Norms of rows with gradients: FP32 against the plain version in FP64, gradients of that against differences, and the
// same bits for any number of threads.
#include "kernels/norm/row_norm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace ipex_studio {
namespace {

template <typename T>
struct NormRun {
  RowNormJob job;
  bool has_residual, has_factors;
  std::vector<T> x, residual, gamma, beta, y, sum, of_y, of_sum, of_x, of_gamma, of_beta;

  NormRun(RowNorm norm, std::int64_t rows, std::int64_t size, bool with_residual, bool with_factors)
      : has_residual(with_residual), has_factors(with_factors) {
    job.norm = norm;
    job.rows = rows;
    job.size = size;
    job.eps = 1e-5;
    std::mt19937 random(7);
    std::normal_distribution<float> normal;
    for (std::vector<T>* values : {&x, &residual, &of_y, &of_sum, &y, &sum, &of_x}) {
      for (std::int64_t i = 0; i < 1 + rows * size; ++i) values->push_back(static_cast<T>(normal(random)));
    }
    for (std::vector<T>* values : {&gamma, &beta, &of_gamma, &of_beta}) {
      for (std::int64_t i = 0; i < 1 + size; ++i) values->push_back(static_cast<T>(normal(random)));
    }
  }

  void forward(std::int32_t threads) {
    normalizeRows<T>(job, x.data() + 1, has_residual ? residual.data() + 1 : nullptr,
                     has_factors ? gamma.data() + 1 : nullptr, has_factors ? beta.data() + 1 : nullptr, y.data() + 1,
                     has_residual ? sum.data() + 1 : nullptr, threads);
  }

  NormRun& compute(std::int32_t threads) {
    forward(threads);
    RowNormGradients<T> to;
    to.x = of_x.data() + 1;
    if (has_factors) {
      to.gamma = of_gamma.data() + 1;
      to.beta = of_beta.data() + 1;
    }
    normalizeRowsGradient<T>(job, (has_residual ? sum : x).data() + 1, has_factors ? gamma.data() + 1 : nullptr,
                             of_y.data() + 1, has_residual ? of_sum.data() + 1 : nullptr, to, threads);
    return *this;
  }

  double product() {
    forward(1);
    double total = 0;
    for (std::size_t i = 1; i < y.size(); ++i) {
      total += static_cast<double>(of_y[i]) * static_cast<double>(y[i]);
      if (has_residual) total += static_cast<double>(of_sum[i]) * static_cast<double>(sum[i]);
    }
    return total;
  }
};

template <typename T>
void expectNear(const std::vector<T>& a, const std::vector<double>& b, double tolerance) {
  double most = 1;
  for (std::size_t i = 1; i < b.size(); ++i) most = std::max(most, std::abs(b[i]));
  for (std::size_t i = 1; i < b.size(); ++i) ASSERT_NEAR(static_cast<double>(a[i]), b[i], tolerance * most) << i;
}

TEST(RowNorm, Fp32IsTheDefinition) {
  for (const RowNorm norm : {RowNorm::kRootMeanSquare, RowNorm::kDeviation}) {
    for (const std::int64_t size : {1, 3, 17, 33, 100, 129, 1024}) {
      for (const bool residual : {false, true}) {
        for (const bool factors : {false, true}) {
          SCOPED_TRACE(testing::Message() << "rows of " << size << (residual ? " with a residual" : ""));
          NormRun<float> fast(norm, 37, size, residual, factors);
          NormRun<double> exact(norm, 37, size, residual, factors);
          fast.compute(2);
          exact.compute(2);
          // A row of one value has no deviation, so its gradient is a difference of large numbers.
          const double tolerance = norm == RowNorm::kDeviation && size < 8 ? 2e-4 : 4e-6;
          expectNear(fast.y, exact.y, tolerance);
          expectNear(fast.of_x, exact.of_x, tolerance);
          if (factors) expectNear(fast.of_gamma, exact.of_gamma, tolerance);
          if (factors) expectNear(fast.of_beta, exact.of_beta, tolerance);
        }
      }
    }
  }
}

TEST(RowNorm, EveryInstructionSetGivesTheGradient) {
  for (const RowNorm norm : {RowNorm::kRootMeanSquare, RowNorm::kDeviation}) {
    for (const std::int64_t size : {17, 33, 100}) {
      NormRun<float> fast(norm, 1, size, true, true);
      NormRun<double> exact(norm, 1, size, true, true);
      fast.forward(1);
      exact.compute(1);
      for (const char* isa : {"avx512_core", "avx2", "sse41"}) {
        std::fill(fast.of_gamma.begin(), fast.of_gamma.end(), 0.0f);
        std::fill(fast.of_beta.begin(), fast.of_beta.end(), 0.0f);
        rowGradientSimd(isa)(fast.job, fast.sum.data() + 1, fast.gamma.data() + 1, fast.of_y.data() + 1,
                             fast.of_sum.data() + 1,
                             {fast.of_x.data() + 1, fast.of_gamma.data() + 1, fast.of_beta.data() + 1});
        expectNear(fast.of_x, exact.of_x, 4e-6);
        expectNear(fast.of_gamma, exact.of_gamma, 4e-6);
        expectNear(fast.of_beta, exact.of_beta, 4e-6);
      }
    }
  }
}

TEST(RowNorm, ThePlainGradientIsThatOfDifferences) {
  for (const RowNorm norm : {RowNorm::kRootMeanSquare, RowNorm::kDeviation}) {
    NormRun<double> run(norm, 4, 5, true, true);
    run.compute(1);
    const auto check = [&](std::vector<double>& values, const std::vector<double>& gradient) {
      constexpr double kStep = 1e-6;
      for (std::size_t i = 1; i < values.size(); ++i) {
        const double before = values[i];
        values[i] = before + kStep;
        const double above = run.product();
        values[i] = before - kStep;
        const double below = run.product();
        values[i] = before;
        EXPECT_NEAR(gradient[i], (above - below) / (2 * kStep), 1e-6);
      }
    };
    check(run.x, run.of_x);
    check(run.residual, run.of_x);
    check(run.gamma, run.of_gamma);
    check(run.beta, run.of_beta);
  }
}

TEST(RowNorm, BitsDoNotDependOnThreads) {
  NormRun<float> one(RowNorm::kDeviation, 2000, 65, true, true);
  one.compute(1);
  for (const std::int32_t threads : {2, 4}) {
    NormRun<float> more(RowNorm::kDeviation, 2000, 65, true, true);
    more.compute(threads);
    EXPECT_EQ(one.y, more.y);
    EXPECT_EQ(one.of_x, more.of_x);
    EXPECT_EQ(one.of_gamma, more.of_gamma);
    EXPECT_EQ(one.of_beta, more.of_beta);
  }
}

}  // namespace
}  // namespace ipex_studio
