// What attention gives where scores are infinite, huge or not numbers: as softmax over the whole row would.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "harness.h"
#include "kernels/kernel_list.h"

namespace ipex_studio::kernel_test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

// A mask of `queries` × `keys` on normal q, k, v; the problem's answer is the reference's.
Problem masked(std::int64_t queries, std::int64_t keys, const std::function<double(std::int64_t, std::int64_t)>& mask, Case* test) {
  *test = {"attention{scale=0.3}", {Source::of({2, queries, 8}), Source::of({2, keys, 8}), Source::of({2, keys, 8}), Source::of({queries, keys})}};
  Problem problem = makeProblem(*test);
  for (std::int64_t i = 0; i < queries * keys; ++i) problem.values[3][i] = mask(i / keys, i % keys);
  problem.expected.clear();
  static const std::unique_ptr<KernelList> list = makeKernelList();
  runCase(*list->candidates(OpKind::kAttention).back(), *test, problem, Conditions());
  return problem;
}

void expectSame(std::int64_t queries, std::int64_t keys, const std::function<double(std::int64_t, std::int64_t)>& mask, bool has_nan,
                double tolerance = 2e-6) {
  Case test;
  Problem problem = masked(queries, keys, mask, &test);
  // NaN is compared apart: the harness calls it an error.
  std::vector<bool> nan;
  for (double& value : problem.expected[0]) {
    nan.push_back(std::isnan(value));
    if (nan.back()) value = 0;
  }
  EXPECT_EQ(std::find(nan.begin(), nan.end(), true) != nan.end(), has_nan);
  static const std::unique_ptr<KernelList> list = makeKernelList();
  for (const char* isa : {"avx512_core", "avx2", "sse41"}) {
    Problem copy = problem;
    if (has_nan) copy.expected.clear();
    const Outcome outcome = runCase(*list->candidates(OpKind::kAttention).front(), test, copy, Conditions{Layout::kPlain, 1, isa, -1});
    ASSERT_EQ(outcome.problem, "");
    ASSERT_FALSE(outcome.declined);
    if (!has_nan) {
      EXPECT_LE(outcome.error, tolerance) << isa;
      continue;
    }
    for (std::size_t i = 0; i < nan.size(); ++i) {
      ASSERT_EQ(std::isnan(copy.expected[0][i]), nan[i]) << isa << " at " << i;
      if (!nan[i]) {
        EXPECT_NEAR(copy.expected[0][i], problem.expected[0][i], 1e-5);
      }
    }
  }
}

// Of many and of few queries: two ways to compute it.
class AttentionExtremes : public testing::TestWithParam<std::int64_t> {};

TEST_P(AttentionExtremes, KeysThatAreHiddenCompletely) {
  expectSame(GetParam(), 600, [](auto, auto key) { return key < 300 ? -kInf : 0.0; }, false);
  expectSame(GetParam(), 600, [](auto, auto key) { return key > 300 ? -kInf : 0.0; }, false);
  expectSame(GetParam(), 600, [](auto query, auto key) { return key % 7 == query % 7 ? 0.0 : -kInf; }, false);
}

TEST_P(AttentionExtremes, RowsWithoutAnyKeyAreNotANumber) {
  expectSame(GetParam(), 600, [](auto query, auto) { return query == 1 ? -kInf : 0.0; }, true);
  expectSame(GetParam(), 5, [](auto query, auto) { return query == 0 ? -kInf : 0.0; }, true);
}

TEST_P(AttentionExtremes, RowsThatAreMaskedByTheLowestNumberAreAverages) {
  const double lowest = std::numeric_limits<float>::lowest();
  expectSame(GetParam(), 40, [=](auto query, auto) { return query == 1 ? lowest : 0.0; }, false);
}

TEST_P(AttentionExtremes, NotANumberStaysInItsRow) {
  expectSame(GetParam(), 600, [](auto query, auto key) { return query == 1 && key == 433 ? std::nan("") : 0.0; }, true);
  expectSame(GetParam(), 600, [](auto query, auto key) { return query == 1 && key == 2 ? kInf : 0.0; }, true);
}

// Scores of 1000 are known to 6e-5 in float32.
TEST_P(AttentionExtremes, LargeScoresDoNotOverflow) {
  expectSame(GetParam(), 600, [](auto query, auto key) { return query == 0 ? 500.0 * (key % 3) : -500.0 * (key % 5); }, false, 2e-4);
}

INSTANTIATE_TEST_SUITE_P(Queries, AttentionExtremes, testing::Values(3, 20));

}  // namespace
}  // namespace ipex_studio::kernel_test
