// The loss of RNN transducers: costs against the sum over all paths, gradients against differences and against eager
// sums in double precision, and the same bits for any number of threads.
#include "kernels/training/rnnt_loss.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace ipex_studio::kernel_test {
namespace {

// Samples of several lengths with random logits.
struct Transducers {
  Transducers(std::int64_t samples, std::int64_t frames, std::int64_t labels, std::int64_t classes, unsigned seed = 1) {
    std::mt19937 random(seed);
    job.samples = samples, job.frames = frames, job.labels = labels, job.classes = classes;
    std::normal_distribution<float> normal;
    logits.resize(static_cast<std::size_t>(samples * frames * (labels + 1) * classes));
    for (double& logit : logits) logit = bf16ToFloat(floatToBf16(2 * normal(random)));
    std::uniform_int_distribution<std::int64_t> any(0, classes - 1);
    for (std::int64_t i = 0; i < samples * labels; ++i) targets.push_back(any(random));
    for (std::int64_t i = 0; i < samples; ++i) {
      frames_of.push_back(std::max<std::int64_t>(1, frames - i));
      labels_of.push_back(std::max<std::int64_t>(0, labels - 2 * i));
      gradient.push_back(normal(random));
    }
    job.targets = targets.data(), job.frames_of = frames_of.data(), job.labels_of = labels_of.data();
  }

  std::vector<double> logits, gradient;
  std::vector<std::int64_t> targets, frames_of, labels_of;
  RnntLossJob job;
};

template <typename T>
T madeOf(double value) {
  if constexpr (std::is_same_v<T, Bf16>) {
    return {floatToBf16(static_cast<float>(value))};
  } else {
    return static_cast<T>(value);
  }
}
double valueOf(double value) { return value; }
double valueOf(Bf16 value) { return bf16ToFloat(value.bits); }

struct Results {
  std::vector<double> costs, gradients;
};

template <typename T>
Results computed(const Transducers& given, const RnntLossJob& job) {
  using S = RnntSum<T>;
  std::vector<T> logits, out(given.logits.size(), madeOf<T>(NAN));
  for (const double logit : given.logits) logits.push_back(madeOf<T>(logit));
  const std::vector<S> gradient(given.gradient.begin(), given.gradient.end());
  std::vector<S> costs(gradient.size());
  std::vector<RnntNode<S>> nodes(logits.size() / static_cast<std::size_t>(job.classes));
  rnntLoss<T>(job, logits.data(), costs.data(), nodes.data());
  Results results;
  results.costs.assign(costs.begin(), costs.end());
  if (!job.needs_gradient) return results;
  rnntLossGradient<T>(job, logits.data(), nodes.data(), gradient.data(), out.data());
  for (const T& value : out) results.gradients.push_back(valueOf(value));
  return results;
}

// e to the sum of logarithms along each path from (t, u), one after the other.
double sumOverPaths(const Transducers& given, std::int64_t sample, std::int64_t t, std::int64_t u) {
  const RnntLossJob& job = given.job;
  const double* const row = given.logits.data() + ((sample * job.frames + t) * (job.labels + 1) + u) * job.classes;
  double sum = 1;
  if (!job.are_logarithms) {
    sum = 0;
    for (std::int64_t v = 0; v < job.classes; ++v) sum += std::exp(row[v]);
  }
  const bool last = t + 1 == given.frames_of[static_cast<std::size_t>(sample)];
  double found = 0;
  if (u < given.labels_of[static_cast<std::size_t>(sample)]) {
    const auto target = given.targets[static_cast<std::size_t>(sample * job.labels + u)];
    found += std::exp(row[target]) / sum * sumOverPaths(given, sample, t, u + 1);
  } else if (last) {
    return std::exp(row[job.blank]) / sum;
  }
  return last ? found : found + std::exp(row[job.blank]) / sum * sumOverPaths(given, sample, t + 1, u);
}

TEST(RnntLoss, IsTheSumOverAllPaths) {
  for (const bool logarithms : {false, true}) {
    Transducers given(3, 5, 4, 7);
    given.job.blank = 3;
    given.job.are_logarithms = logarithms;
    const Results results = computed<double>(given, given.job);
    for (std::int64_t sample = 0; sample < 3; ++sample) {
      const double expected = -std::log(sumOverPaths(given, sample, 0, 0));
      EXPECT_NEAR(results.costs[static_cast<std::size_t>(sample)], expected, 1e-12 * std::abs(expected)) << sample;
    }
  }
}

TEST(RnntLoss, GradientsAreDifferencesOfCosts) {
  for (const bool logarithms : {false, true}) {
    Transducers given(2, 4, 3, 5);
    given.job.blank = 2;  // some targets are blanks, too
    given.job.are_logarithms = logarithms;
    const Results results = computed<double>(given, given.job);
    const auto weighted = [&] {
      const Results at = computed<double>(given, given.job);
      return at.costs[0] * given.gradient[0] + at.costs[1] * given.gradient[1];
    };
    for (std::size_t i = 0; i < given.logits.size(); ++i) {
      const double step = 1e-5, kept = given.logits[i];
      given.logits[i] = kept + step;
      const double above = weighted();
      given.logits[i] = kept - step;
      const double below = weighted();
      given.logits[i] = kept;
      ASSERT_NEAR(results.gradients[i], (above - below) / (2 * step), 1e-8) << i << " " << logarithms;
    }
  }
}

template <typename T>
void compareWithDouble(double cost_bound, double gradient_bound) {
  for (const char* isa : {"", "avx2", "sse4"}) {
    for (const std::int64_t classes : {1, 3, 17, 31, 33, 100, 129}) {
      Transducers given(3, 9, 5, classes);
      given.job.isa = isa;
      given.job.blank = classes - 1;
      const Results expected = computed<double>(given, given.job), results = computed<T>(given, given.job);
      for (std::size_t i = 0; i < expected.costs.size(); ++i)
        EXPECT_NEAR(results.costs[i], expected.costs[i], cost_bound * (1 + std::abs(expected.costs[i])));
      for (std::size_t i = 0; i < expected.gradients.size(); ++i) {
        ASSERT_NEAR(results.gradients[i], expected.gradients[i],
                    1e-6 + gradient_bound * std::abs(expected.gradients[i]))
            << isa << " " << classes << " " << i;
      }
    }
  }
}

TEST(RnntLoss, Fp32IsNearDouble) { compareWithDouble<float>(1e-6, 4e-6); }
TEST(RnntLoss, Bf16RoundsItsGradientsOnce) { compareWithDouble<Bf16>(1e-6, 0.0040); }

TEST(RnntLoss, BitsDoNotDependOnThreads) {
  Transducers given(5, 11, 7, 33);
  const Results one = computed<float>(given, given.job);
  for (const std::int32_t threads : {2, 4}) {
    given.job.threads = threads;
    const Results more = computed<float>(given, given.job);
    EXPECT_EQ(one.costs, more.costs);
    EXPECT_EQ(one.gradients, more.gradients);
  }
  given.job.needs_gradient = false;
  EXPECT_EQ(one.costs, computed<float>(given, given.job).costs);
}

TEST(RnntLoss, ClampsBeforeTheGradientOfTheCost) {
  Transducers given(2, 6, 4, 9);
  const Results free = computed<double>(given, given.job);
  given.job.clamp = 0.05;
  for (const Results& bound : {computed<double>(given, given.job), computed<float>(given, given.job)}) {
    for (std::size_t i = 0; i < free.gradients.size(); ++i) {
      const double weight = given.gradient[i / (free.gradients.size() / 2)];
      ASSERT_NEAR(bound.gradients[i], weight * std::clamp(free.gradients[i] / weight, -0.05, 0.05), 1e-6) << i;
    }
  }
}

TEST(RnntLoss, WhatLiesBeyondTheLengthsIsNotRead) {
  Transducers given(3, 6, 5, 4);
  const Results expected = computed<float>(given, given.job);
  const auto rows = static_cast<std::size_t>(6 * 6);
  for (std::size_t sample = 0; sample < 3; ++sample) {
    for (std::size_t row = 0; row < rows; ++row) {
      const auto t = static_cast<std::int64_t>(row / 6), u = static_cast<std::int64_t>(row % 6);
      if (t < given.frames_of[sample] && u <= given.labels_of[sample]) continue;
      for (std::size_t v = 0; v < 4; ++v) {
        EXPECT_EQ(expected.gradients[(sample * rows + row) * 4 + v], 0);
        given.logits[(sample * rows + row) * 4 + v] = NAN;
      }
    }
  }
  given.targets[5 + 4] = 1000;
  const Results results = computed<float>(given, given.job);
  EXPECT_EQ(results.costs, expected.costs);
  EXPECT_EQ(results.gradients, expected.gradients);
}

TEST(RnntLoss, ImpossibleAndNotANumberAreSaid) {
  Transducers given(1, 3, 1, 4);
  given.job.are_logarithms = true;
  given.targets[0] = 2;
  for (std::size_t node = 0; node < 6; node += 2) given.logits[node * 4 + 2] = -std::numeric_limits<double>::infinity();
  EXPECT_EQ(computed<float>(given, given.job).costs[0], std::numeric_limits<double>::infinity());
  given.logits[2] = NAN;  // of the first label
  EXPECT_TRUE(std::isnan(computed<float>(given, given.job).costs[0]));
  given.job.are_logarithms = false;
  EXPECT_TRUE(std::isnan(computed<float>(given, given.job).costs[0]));
}

}  // namespace
}  // namespace ipex_studio::kernel_test
