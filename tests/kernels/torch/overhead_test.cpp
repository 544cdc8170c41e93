// Benchmark of the cost of a call beside its steps: a region, and operators that stand alone in a graph.
#include <gtest/gtest.h>
#include <torch/script.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "kernels/torch/plans/region.h"
#include "tests/goal.h"
#include "tests/kernels/torch/threads.h"

namespace ipex_studio {
namespace {

// The shortest of 20 rounds, per call.
template <typename Call>
double microsecondsPerCall(const Call& call) {
  constexpr int kRounds = 20, kCalls = 2000;
  double shortest = 1e9;
  for (int round = 0; round < kRounds; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < kCalls; ++i) call();
    shortest = std::min(shortest, 1e6 * secondsSince(begin) / kCalls);
  }
  return shortest;
}

c10::OperatorHandle operatorOf(const char* name) { return c10::Dispatcher::singleton().findSchemaOrThrow(name, ""); }

TEST(OverheadPerCall, Region) {
  const testing::Threads one(1);
  const auto region = c10::make_intrusive<Region>(R"~({"plan":1,"inputs":[["f32",1]],"constants":[],"nodes":[
    {"op":"pointwise{}|relu","src":[0],"dst":[1],"name":"r","origins":[]}],"outputs":[1]})~",
                                                  std::vector<at::Tensor>{});
  const c10::OperatorHandle op = operatorOf("ipex_studio::region");
  const at::Tensor x = at::randn({16});
  const c10::List<at::Tensor> tensors({x});
  const c10::List<std::int64_t> sizes;
  const torch::NoGradGuard no_grad;
  at::Tensor result;
  const double through_operator = microsecondsPerCall([&] {
    torch::jit::Stack stack{region, tensors, sizes};
    op.callBoxed(&stack);
  });
  const double through_cache = microsecondsPerCall([&] { region->plans().run({&x}, {}, &result); });
  expectWithin("region of one relu over 16 numbers, through the operator", through_operator, 5, "us");
  expectWithin("region of one relu over 16 numbers, through the plan cache", through_cache, 3, "us");
  EXPECT_TRUE(at::equal(result, at::relu(x)));
}

TEST(OverheadPerCall, StandAlonePointwise) {
  const testing::Threads one(1);
  const c10::OperatorHandle op = operatorOf("ipex_studio::pointwise");
  const at::Tensor x = at::randn({16});
  const c10::IValue no_operands = c10::List<at::Tensor>(), spec = "pointwise{}|relu";
  const torch::NoGradGuard no_grad;
  at::Tensor result;
  const double measured = microsecondsPerCall([&] {
    torch::jit::Stack stack{x, no_operands, spec};
    op.callBoxed(&stack);
    result = std::move(stack[0]).toTensor();
  });
  expectWithin("operator of one relu over 16 numbers", measured, 5, "us");
  EXPECT_TRUE(at::equal(result, at::relu(x)));
}

// Layers called one after the other, as the interpreter runs a model: each has its weights and its constant string.
void expectLayersWithin(int layers, double goal) {
  const testing::Threads one(1);
  const c10::OperatorHandle op = operatorOf("ipex_studio::linear");
  at::manual_seed(1);
  std::vector<at::Tensor> weights, biases;
  std::vector<c10::IValue> specs;
  for (int i = 0; i < layers; ++i) {
    weights.push_back(at::randn({16, 16}));
    biases.push_back(at::randn({16}));
    specs.emplace_back("linear{}|relu");
  }
  const at::Tensor x = at::randn({1, 16});
  const c10::IValue no_operands = c10::List<at::Tensor>();
  const torch::NoGradGuard no_grad;
  std::size_t layer = 0;
  at::Tensor result;
  const double measured = microsecondsPerCall([&] {
    layer = layer + 1 < weights.size() ? layer + 1 : 0;
    torch::jit::Stack stack{x, weights[layer], biases[layer], no_operands, specs[layer]};
    op.callBoxed(&stack);
    result = std::move(stack[0]).toTensor();
  });
  expectWithin("operator of one linear layer of 16 by 16, among " + std::to_string(layers), measured, goal, "us");
  EXPECT_TRUE(at::allclose(result, at::relu(at::linear(x, weights[layer], biases[layer]))));
}

TEST(OverheadPerCall, StandAloneLinear) { expectLayersWithin(1, 5); }

TEST(OverheadPerCall, StandAloneLinearAmongMany) { expectLayersWithin(200, 8); }

}  // namespace
}  // namespace ipex_studio
