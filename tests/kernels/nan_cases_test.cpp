// Every case of the table with a NaN in each of its sources in turn: kernels keep NaN where the reference does, or say
// that they may not.
#include <gtest/gtest.h>

#include <cmath>

#include "core/op/low_precision_floats.h"
#include "kernels/kernel_list.h"
#include "tests/kernels/harness.h"

namespace ipex_studio::kernel_test {
namespace {

// True for sums that hold 0 · NaN or leave it out, as their order of computing goes, for scales found among values that
// hold NaN, and for bytes, which cannot: libtorch's own results are no more than one of the ways.
bool isOpen(const OpSpec& spec) {
  const std::string result = spec.stringOr("result", "");
  return result == "u8" || result == "s8" || spec.kind == OpKind::kFourier || spec.kind == OpKind::kComplexFourier ||
         spec.kind == OpKind::kUpsample || spec.kind == OpKind::kInteractionBackward || spec.intOr("dynamic", 0) != 0;
}

// True for the values of a causal attention: those of later keys are left out or multiplied by 0, tile by tile.
bool isOpen(const OpSpec& spec, std::size_t source) { return spec.intOr("causal", 0) != 0 && source == 2; }

class NanCases : public testing::TestWithParam<Case> {};

TEST_P(NanCases, StaysWhereTheReferenceKeepsIt) {
  static const std::unique_ptr<KernelList> list = makeKernelList();
  const Case& test = GetParam();
  if (test.bench) GTEST_SKIP() << "large";
  const Problem numbers = makeProblem(test, false);
  if (isOpen(numbers.spec)) GTEST_SKIP() << "open";
  const auto& candidates = list->candidates(numbers.spec.kind, DeviceKind::kCpu);
  for (std::size_t s = 0; s < test.src.size(); ++s) {
    const bool computes = test.src[s].fill == Fill::kNormal || test.src[s].fill == Fill::kPositive;
    if (isOpen(numbers.spec, s) || test.src[s].constant || !computes || !isFloatDtype(test.src[s].dtype) ||
        numbers.values[s].empty())
      continue;
    Problem problem = numbers;
    problem.values[s][problem.values[s].size() * 3 / 7] = std::nan("");
    const Conditions plain;
    ASSERT_EQ(runCase(*candidates.back(), test, problem, plain).problem, "");
    for (std::size_t k = 0; k + 1 < candidates.size(); ++k) {
      for (const Layout layout : {Layout::kPlain, Layout::kChannelsLast, Layout::kBlocked16}) {
        Conditions conditions;
        conditions.layout = layout;
        const Outcome outcome = runCase(*candidates[k], test, problem, conditions);
        if (outcome.declined || outcome.needs_finite) continue;
        EXPECT_LE(outcome.error, toleranceOf(*candidates[k], test))
            << candidates[k]->name() << " " << test.spec << " " << layoutText(layout) << ", NaN in source " << s;
      }
    }
  }
}

#define IPEX_TEST(name, cases) INSTANTIATE_TEST_SUITE_P(name, NanCases, testing::ValuesIn(cases()), CaseName());
IPEX_CASE_LISTS(IPEX_TEST)
#undef IPEX_TEST

}  // namespace
}  // namespace ipex_studio::kernel_test
