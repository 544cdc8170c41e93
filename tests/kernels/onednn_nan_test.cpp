// Every post-operation on every kernel for products with a NaN in the source: it stays, or the kernel says that it may
// not.
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/kernel_list.h"
#include "tests/kernels/harness.h"

namespace ipex_studio::kernel_test {
namespace {

using S = Source;

const char* const kChains[] = {
    "relu",      "clip(0,6)",     "clip(-1,1)",  "sigmoid",         "tanh",   "gelu_erf",    "gelu_tanh",
    "silu",      "hardswish",     "hardsigmoid", "leaky_relu(0.1)", "elu(1)", "mish",        "abs",
    "exp",       "log",           "sqrt",        "square",          "neg",    "round",       "linear(2,1)",
    "max(0)",    "min(0)",        "mul(0)",      "div(0)",          "sub(0)", "add(0)|relu", "sigmoid|add(0)",
    "silu|tanh", "softplus(1,20)"};

void expectNan(const std::string& operation, std::vector<Source> src, const Source& operand) {
  static const std::unique_ptr<KernelList> list = makeKernelList();
  int compared = 0;
  for (const char* chain : kChains) {
    Case test{operation + "|" + chain, src};
    if (test.spec.find("(0)") != std::string::npos) test.src.push_back(operand);
    Problem problem = makeProblem(test, false);
    problem.values[0][problem.values[0].size() / 2] = std::nan("");
    const auto& candidates = list->candidates(problem.spec.kind, DeviceKind::kCpu);
    runCase(*candidates.back(), test, problem, {});
    for (std::size_t k = 0; k + 1 < candidates.size(); ++k) {
      const Outcome outcome = runCase(*candidates[k], test, problem, {});
      if (outcome.declined || outcome.needs_finite) continue;
      ++compared;
      EXPECT_TRUE(std::isfinite(outcome.error)) << candidates[k]->name() << " " << test.spec;
    }
  }
  EXPECT_GT(compared, 15);
}

TEST(OnednnNan, StaysBehindConvolutions) {
  expectNan("convolution{padding=[1,1]}", {S::of({1, 16, 7, 9}), S::weight({32, 16, 3, 3}), S::weight({32})},
            S::positive({1, 32, 7, 9}));
}

TEST(OnednnNan, StaysBehindDepthwiseConvolutions) {
  expectNan("convolution{groups=32,padding=[1,1]}", {S::of({1, 32, 7, 9}), S::weight({32, 1, 3, 3}), S::weight({32})},
            S::positive({1, 32, 7, 9}));
}

TEST(OnednnNan, StaysBehindDepthwiseConvolutionsOfFewChannels) {
  expectNan("convolution{groups=3,padding=[1,1],stride=[2,1]}",
            {S::of({2, 3, 10, 9}), S::weight({3, 1, 3, 3}), S::weight({3})}, S::positive({2, 3, 5, 9}));
}

TEST(OnednnNan, StaysBehindGatheredConvolutions) {
  expectNan("convolution{groups=3,padding=[1,1],stride=[2,1]}",
            {S::of({2, 3, 10, 16}), S::weight({3, 1, 3, 3}), S::weight({3})}, S::weight({1, 1, 1, 16}));
}

TEST(OnednnNan, StaysBehindLinear) {
  expectNan("linear{}", {S::of({33, 64}), S::weight({48, 64}), S::weight({48})}, S::positive({33, 48}));
}

TEST(OnednnNan, StaysBehindMatmul) {
  expectNan("matmul{}", {S::of({2, 17, 32}), S::of({2, 32, 24})}, S::positive({2, 17, 24}));
}

}  // namespace
}  // namespace ipex_studio::kernel_test
