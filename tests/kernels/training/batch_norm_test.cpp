// Batch normalization of training against plain loops in double precision: odd sizes, instruction sets, numbers of
// threads, means and values far from the others.
#include "kernels/training/batch_norm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace ipex_studio::kernel_test {
namespace {

using Floats = std::vector<float>;

struct NormOperands {
  NormOperands(std::int64_t rows, std::int64_t channels, float center = 0)
      : x(draw(rows * channels, center)),
        dy(draw(rows * channels, 0)),
        gamma(draw(channels, 1)),
        beta(draw(channels, 0)) {
    job.rows = rows;
    job.channels = channels;
    job.eps = 1e-5;
  }

  Floats draw(std::int64_t count, float center) {
    std::normal_distribution<float> normal(center, 1);
    Floats values(static_cast<std::size_t>(count));
    for (float& value : values) value = normal(random);
    return values;
  }

  std::mt19937 random{7};
  BatchNormJob job;
  Floats x, dy, gamma, beta;
};

struct NormResults {
  explicit NormResults(const NormOperands& o, bool affine = true)
      : y(o.x.size(), NAN), dx(y), mean(o.gamma.size(), NAN), inverse(mean), variance(mean), dgamma(mean), dbeta(mean) {
    const float *gamma = affine ? o.gamma.data() : nullptr, *beta = affine ? o.beta.data() : nullptr;
    const BatchNormChannels channels{gamma, beta, mean.data(), inverse.data()};
    batchNormForward<float>(o.job, channels, o.x.data(), nullptr, y.data(), variance.data());
    batchNormBackward<float>(o.job, channels,
                             {o.x.data(), o.dy.data(), nullptr, dx.data(), nullptr, dgamma.data(), dbeta.data()});
  }

  Floats y, dx, mean, inverse, variance, dgamma, dbeta;
};

// The formulas of Ioffe, Szegedy: Batch normalization (2015), for one channel. `scale`: of distances to allow.
void expectChannel(const NormOperands& o, const NormResults& results, std::size_t c, bool affine, double scale) {
  const auto channels = static_cast<std::size_t>(o.job.channels), rows = static_cast<std::size_t>(o.job.rows);
  const auto n = static_cast<double>(rows);
  const double gamma = affine ? o.gamma[c] : 1, beta = affine ? o.beta[c] : 0;
  double mean = 0, variance = 0, sum = 0, product = 0;
  for (std::size_t r = 0; r < rows; ++r) mean += o.x[r * channels + c] / n;
  for (std::size_t r = 0; r < rows; ++r) variance += std::pow(o.x[r * channels + c] - mean, 2) / n;
  const double root = 1 / std::sqrt(variance + o.job.eps);
  const auto normal = [&](std::size_t r) { return (o.x[r * channels + c] - mean) * root; };
  for (std::size_t r = 0; r < rows; ++r) {
    sum += o.dy[r * channels + c];
    product += o.dy[r * channels + c] * normal(r);
  }
  const double bound = 1e-6 * scale;
  EXPECT_NEAR(results.mean[c], mean, bound * (1 + std::abs(mean)));
  EXPECT_NEAR(results.variance[c], variance, 4 * bound * (1e-6 + variance));
  EXPECT_NEAR(results.dbeta[c], sum, 4 * bound * std::sqrt(n));
  EXPECT_NEAR(results.dgamma[c], product, 8 * bound * std::sqrt(n));
  for (std::size_t r = 0; r < rows; ++r) {
    const std::size_t i = r * channels + c;
    ASSERT_NEAR(results.y[i], normal(r) * gamma + beta, 4 * bound * (1 + std::abs(normal(r) * gamma))) << i;
    const double dx = gamma * root / n * (n * o.dy[i] - sum - normal(r) * product);
    ASSERT_NEAR(results.dx[i], dx, 4 * bound * (1 + root) * (1 + std::abs(normal(r)))) << i;
  }
}

TEST(BatchNormTest, IsRightForAllSizes) {
  for (const std::int64_t rows : {2, 3, 17, 64, 65, 300, 5000}) {
    for (const std::int64_t channels : {1, 3, 8, 17, 33, 64}) {
      for (const char* isa : {"", "avx2", "sse4"}) {
        SCOPED_TRACE(testing::Message() << rows << " rows of " << channels << ' ' << isa);
        NormOperands operands(rows, channels);
        operands.job.isa = isa;
        const bool affine = rows != 17;
        const NormResults results(operands, affine);
        for (std::size_t c = 0; c < static_cast<std::size_t>(channels); ++c) {
          expectChannel(operands, results, c, affine, rows < 4 ? 30 : 3);
        }
      }
    }
  }
}

std::vector<Bf16> rounded(const Floats& values) {
  std::vector<Bf16> result(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) result[i].bits = floatToBf16(values[i]);
  return result;
}

Floats rounded(const std::vector<Bf16>& values) {
  Floats result(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) result[i] = bf16ToFloat(values[i].bits);
  return result;
}

// Forward and backward with what follows, in FP32.
struct Followed {
  Floats y, dx, daddend, mean, dgamma, dbeta;
};

Followed followedBy(NormOperands& o, const Floats* addend, bool relu) {
  Followed r{Floats(o.x.size(), NAN), Floats(o.x.size(), NAN), Floats(o.x.size(), NAN),
             Floats(o.gamma.size()),  Floats(o.gamma.size()),  Floats(o.gamma.size())};
  Floats inverse(o.gamma.size()), variance(o.gamma.size());
  o.job.relu = relu;
  const BatchNormChannels channels{o.gamma.data(), o.beta.data(), r.mean.data(), inverse.data()};
  batchNormForward<float>(o.job, channels, o.x.data(), addend ? addend->data() : nullptr, r.y.data(), variance.data());
  const bool by_result = addend != nullptr && relu;
  batchNormBackward<float>(o.job, channels,
                           {o.x.data(), o.dy.data(), by_result ? r.y.data() : nullptr, r.dx.data(),
                            by_result ? r.daddend.data() : nullptr, r.dgamma.data(), r.dbeta.data()});
  return r;
}

Followed followedByInBf16(NormOperands& o, const Floats* addend, bool relu) {
  const std::vector<Bf16> x = rounded(o.x), dy = rounded(o.dy), more = addend ? rounded(*addend) : rounded(Floats());
  std::vector<Bf16> y(x.size(), Bf16{0x7fc0}), dx(y), daddend(y);
  Followed r;
  r.mean = r.dgamma = r.dbeta = Floats(o.gamma.size());
  Floats inverse(o.gamma.size()), variance(o.gamma.size());
  o.job.relu = relu;
  const BatchNormChannels channels{o.gamma.data(), o.beta.data(), r.mean.data(), inverse.data()};
  batchNormForward<Bf16>(o.job, channels, x.data(), addend ? more.data() : nullptr, y.data(), variance.data());
  const bool by_result = addend != nullptr && relu;
  batchNormBackward<Bf16>(o.job, channels,
                          {x.data(), dy.data(), by_result ? y.data() : nullptr, dx.data(),
                           by_result ? daddend.data() : nullptr, r.dgamma.data(), r.dbeta.data()});
  r.y = rounded(y);
  r.dx = rounded(dx);
  r.daddend = rounded(daddend);
  return r;
}

void expectClose(const Floats& values, const Floats& right, double relative, double absolute, const char* what) {
  ASSERT_EQ(values.size(), right.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    ASSERT_NEAR(values[i], right[i], absolute + relative * std::abs(right[i])) << what << ' ' << i;
  }
}

// ReLU and addends in the same pass are what they are in passes of their own: bit for bit forward, and the gradient of
// ReLU is that of the plain normalization for a masked dy.
TEST(BatchNormTest, ComputesWhatFollows) {
  for (const std::int64_t rows : {2, 65, 700}) {
    for (const std::int64_t channels : {1, 17, 33}) {
      for (const char* isa : {"", "avx2", "sse4"}) {
        for (const bool adds : {false, true}) {
          SCOPED_TRACE(testing::Message() << rows << " rows of " << channels << ' ' << isa << " addend " << adds);
          NormOperands operands(rows, channels);
          operands.job.isa = isa;
          const Floats addend = operands.draw(rows * channels, 0);
          const Followed plain = followedBy(operands, nullptr, false);
          const Followed fused = followedBy(operands, adds ? &addend : nullptr, true);
          Floats y = plain.y, dy = operands.dy;
          for (std::size_t i = 0; i < y.size(); ++i) {
            y[i] = std::max(0.0f, y[i] + (adds ? addend[i] : 0.0f));
            if (y[i] <= 0) dy[i] = 0;
          }
          EXPECT_EQ(fused.y, y);
          if (adds) {
            EXPECT_EQ(fused.daddend, dy);
          }
          std::swap(operands.dy, dy);
          const Followed masked = followedBy(operands, nullptr, false);
          EXPECT_EQ(fused.dx, masked.dx);
          EXPECT_EQ(fused.dgamma, masked.dgamma);
          EXPECT_EQ(fused.dbeta, masked.dbeta);
        }
      }
    }
  }
}

// Values are rounded once, where they are written; sums are those of FP32.
TEST(BatchNormTest, Bf16IsFp32RoundedAtTheEnd) {
  constexpr double kRounding = 1.0 / 256;
  for (const std::int64_t rows : {3, 65, 5000}) {
    for (const std::int64_t channels : {1, 8, 33}) {
      for (const bool adds : {false, true}) {
        for (const char* isa : {"", "avx2", "sse4"}) {
          SCOPED_TRACE(testing::Message() << rows << " rows of " << channels << ' ' << isa << " addend " << adds);
          NormOperands operands(rows, channels);
          operands.job.isa = isa;
          operands.x = rounded(rounded(operands.x));
          operands.dy = rounded(rounded(operands.dy));
          const Floats addend = rounded(rounded(operands.draw(rows * channels, 0)));
          const Followed wide = followedBy(operands, adds ? &addend : nullptr, true);
          const Followed low = followedByInBf16(operands, adds ? &addend : nullptr, true);
          expectClose(low.y, wide.y, kRounding, 1e-30, "y");
          expectClose(low.dx, wide.dx, kRounding, 1e-6, "dx");
          if (adds) {
            EXPECT_EQ(low.daddend, wide.daddend);
          }
          EXPECT_EQ(low.mean, wide.mean);
          EXPECT_EQ(low.dgamma, wide.dgamma);
          EXPECT_EQ(low.dbeta, wide.dbeta);
          operands.job.threads = 3;
          EXPECT_EQ(followedByInBf16(operands, adds ? &addend : nullptr, true).dx, low.dx);
        }
      }
    }
  }
}

TEST(BatchNormTest, HasTheSameBitsForAnyNumberOfThreads) {
  for (const std::int64_t rows : {65, 5000, 20000}) {
    NormOperands operands(rows, 33);
    const NormResults one(operands);
    for (const std::int32_t threads : {2, 3}) {
      operands.job.threads = threads;
      const NormResults more(operands);
      EXPECT_EQ(one.y, more.y);
      EXPECT_EQ(one.dx, more.dx);
      EXPECT_EQ(one.dgamma, more.dgamma);
      EXPECT_EQ(one.dbeta, more.dbeta);
    }
  }
}

TEST(BatchNormTest, FarMeansAndLoneValuesKeepTheirDigits) {
  const NormOperands far(1000, 3, 300);
  const NormResults results(far);
  for (std::size_t c = 0; c < 3; ++c) expectChannel(far, results, c, true, 100);
  NormOperands lone(100000, 1);
  std::fill(lone.x.begin(), lone.x.end(), 0.0f);
  lone.x[0] = 1000;
  expectChannel(lone, NormResults(lone), 0, true, 3);
}

TEST(BatchNormTest, NotANumberStaysInItsChannel) {
  for (const float bad : {NAN, INFINITY}) {
    NormOperands operands(100, 9);
    operands.x[50 * 9 + 2] = bad;
    const NormResults results(operands);
    for (std::size_t i = 0; i < results.y.size(); ++i) EXPECT_EQ(std::isnan(results.y[i]), i % 9 == 2) << i;
    EXPECT_TRUE(std::isnan(results.variance[2]));
  }
}

}  // namespace
}  // namespace ipex_studio::kernel_test
