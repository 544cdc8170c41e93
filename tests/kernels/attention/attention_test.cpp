// Attention with infinite, huge and NaN scores gives the same as softmax over the whole row; so do random shapes. With
// products in FP32 and in BF16.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include "kernels/kernel_list.h"
#include "tests/kernels/harness.h"

namespace ipex_studio::kernel_test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

const std::vector<const Kernel*>& candidates() {
  static const std::unique_ptr<KernelList> list = makeKernelList();
  return list->candidates(OpKind::kAttention, DeviceKind::kCpu);
}

const Kernel& kernelNamed(const std::string& name) {
  const auto found = std::find_if(candidates().begin(), candidates().end(),
                                  [&](const Kernel* kernel) { return kernel->name() == name; });
  return found == candidates().end() ? *candidates().back() : **found;
}

// A kernel and its tolerance.
struct Way {
  const char* kernel;
  const char* products;
  std::vector<const char*> isas;
  double tolerance;
};

const Way& wayOf(bool bf16) {
  static const Way full_precision = {"attention_simd", "f32", {"avx512_core", "avx2", "sse41"}, 2e-6};
  static const Way low_precision = {
      "attention_simd_bf16", "bf16", {"avx512_core_bf16", "avx512_core", "avx2", "sse41"}, 0.03};
  return bf16 ? low_precision : full_precision;
}

using Mask = std::function<double(std::int64_t query, std::int64_t key)>;

class AttentionExtremes : public testing::TestWithParam<std::tuple<std::int64_t, bool>> {
 protected:
  // Checks a mask of queries × `keys` on normal q, k, v against the reference.
  void expectSame(std::int64_t keys, const Mask& mask, bool has_nan, double tolerance = 0) {
    const auto [queries, bf16] = GetParam();
    const Way& way = wayOf(bf16);
    const Case test = {
        std::string("attention{products=") + way.products + ",scale=0.3}",
        {Source::of({2, queries, 8}), Source::of({2, keys, 8}), Source::of({2, keys, 8}), Source::of({queries, keys})}};
    Problem problem = makeProblem(test);
    for (std::int64_t i = 0; i < queries * keys; ++i)
      problem.values[3][static_cast<std::size_t>(i)] = mask(i / keys, i % keys);
    problem.expected.clear();
    runCase(*candidates().back(), test, problem, Conditions());
    // NaN is compared separately, because the harness counts it as an error.
    std::vector<bool> nan;
    for (double& value : problem.expected[0]) {
      nan.push_back(std::isnan(value));
      if (nan.back()) value = 0;
    }
    EXPECT_EQ(std::find(nan.begin(), nan.end(), true) != nan.end(), has_nan);
    for (const char* isa : way.isas) {
      Problem copy = problem;
      if (has_nan) copy.expected.clear();
      const Outcome outcome = runCase(kernelNamed(way.kernel), test, copy, Conditions{Layout::kPlain, 1, isa, -1});
      ASSERT_EQ(outcome.problem, "");
      ASSERT_FALSE(outcome.declined) << outcome.reason;
      if (!has_nan) {
        EXPECT_LE(outcome.error, std::max(way.tolerance, tolerance)) << isa;
        continue;
      }
      for (std::size_t i = 0; i < nan.size(); ++i) {
        ASSERT_EQ(std::isnan(copy.expected[0][i]), nan[i]) << isa << " at " << i;
        if (!nan[i]) {
          EXPECT_NEAR(copy.expected[0][i], problem.expected[0][i], std::max(1e-5, way.tolerance));
        }
      }
    }
  }
};

TEST_P(AttentionExtremes, KeysThatAreHiddenCompletely) {
  expectSame(
      600, [](auto, auto key) { return key < 300 ? -kInf : 0.0; }, false);
  expectSame(
      600, [](auto, auto key) { return key > 300 ? -kInf : 0.0; }, false);
  expectSame(
      1300, [](auto, auto key) { return key < 1200 ? -kInf : 0.0; }, false);
  expectSame(
      600, [](auto query, auto key) { return key % 7 == query % 7 ? 0.0 : -kInf; }, false);
}

TEST_P(AttentionExtremes, RowsWithoutAnyKeyAreNotANumber) {
  expectSame(
      600, [](auto query, auto) { return query == 1 ? -kInf : 0.0; }, true);
  expectSame(
      5, [](auto query, auto) { return query == 0 ? -kInf : 0.0; }, true);
}

TEST_P(AttentionExtremes, RowsThatAreMaskedByTheLowestNumberAreAverages) {
  const double lowest = std::numeric_limits<float>::lowest();
  expectSame(
      40, [=](auto query, auto) { return query == 1 ? lowest : 0.0; }, false);
}

TEST_P(AttentionExtremes, NotANumberStaysInItsRow) {
  expectSame(
      600, [](auto query, auto key) { return query == 1 && key == 433 ? std::nan("") : 0.0; }, true);
  expectSame(
      600, [](auto query, auto key) { return query == 1 && key == 2 ? kInf : 0.0; }, true);
}

// Scores of 1000 are exact to 6e-5 in float32.
TEST_P(AttentionExtremes, LargeScoresDoNotOverflow) {
  expectSame(
      600, [](auto query, auto key) { return query == 0 ? 500.0 * (key % 3) : -500.0 * (key % 5); }, false, 2e-4);
}

// Few and many queries are computed by different code.
INSTANTIATE_TEST_SUITE_P(Queries, AttentionExtremes, testing::Combine(testing::Values(3, 20), testing::Bool()));

class AttentionShapes : public testing::TestWithParam<bool> {};

// Sources in BF16 are the same numbers for the reference: only the weights are rounded.
TEST_P(AttentionShapes, DrawnAtRandomAgreeWithTheReference) {
  const bool bf16 = GetParam();
  const Way& way = wayOf(bf16);
  std::mt19937 draw(71);
  const auto upTo = [&](std::int64_t most) {
    return 1 + static_cast<std::int64_t>(draw() % static_cast<std::uint32_t>(most));
  };
  for (int round = 0; round < 40; ++round) {
    const std::int64_t batch = upTo(2), heads = upTo(3), depth = upTo(round % 4 == 0 ? 130 : 40),
                       width = upTo(round % 4 == 1 ? 130 : 40);
    const std::int64_t queries = round % 5 == 0 ? 1 : upTo(110), keys = round % 7 == 0 ? 500 + upTo(700) : upTo(150);
    const auto matrix = [&](std::int64_t rows, std::int64_t columns) {
      Source source = Source::of({batch, heads, rows, columns});
      if (bf16 && draw() % 4 != 0) source.dtype = DType::kBf16;
      return source;
    };
    OpSpec spec = parseOpSpec("attention{}");
    spec.attributes["products"] = std::string(way.products);
    spec.attributes["scale"] = 1 / std::sqrt(static_cast<double>(depth));
    if (draw() % 2 == 0) spec.attributes["heads_last"] = std::int64_t{1};
    if (draw() % 3 == 0) spec.attributes["causal"] = std::int64_t{1};
    Case test = {"", {matrix(queries, depth), matrix(keys, depth), matrix(keys, width), Source::none()}};
    switch (draw() % 5) {
      case 0:
        test.src[3] = Source::of({batch, 1, 1, keys});
        break;
      case 1:
        test.src[3] = Source::of({heads, queries, keys});
        break;
      case 2:
        test.src[3] = Source::flags({queries, keys});
        spec.attributes["keep"] = -3.0;
        break;
      default:
        break;
    }
    spec.attributes["result"] = std::string("f32");
    test.spec = spec.text();
    const Problem problem = makeProblem(test);
    for (const char* isa : way.isas) {
      const Outcome outcome =
          runCase(kernelNamed(way.kernel), test, problem, Conditions{Layout::kPlain, 1 + round % 2, isa, -1});
      ASSERT_EQ(outcome.problem, "") << test.spec;
      ASSERT_FALSE(outcome.declined) << outcome.reason;
      EXPECT_LE(outcome.error, bf16 ? 0.015 : 4e-6)
          << isa << " " << test.spec << " " << queries << " x " << keys << ", " << depth << ", " << width;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Products, AttentionShapes, testing::Bool());

}  // namespace
}  // namespace ipex_studio::kernel_test
