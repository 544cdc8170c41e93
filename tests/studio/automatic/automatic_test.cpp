// A program that only links libipex_studio_auto: methods of frozen modules run by plans, all else as libtorch runs it.
#include <ATen/record_function.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/runtime/graph_executor.h>

#include <cstring>
#include <thread>

#include "core/torch/torch_compat.h"

namespace ipex_studio {
namespace {

using torch::jit::Module;

constexpr char kNet[] = R"(
def forward(self, x):
    y = torch.relu(torch.conv2d(x, self.weight, None, [1, 1], [1, 1]))
    return torch.sigmoid(y) * y + 1
)";

Module net(const char* code = kNet) {
  torch::manual_seed(0);
  Module module("net");
  module.register_parameter("weight", at::randn({4, 3, 3, 3}), /*is_buffer=*/false);
  module.register_attribute("training", c10::BoolType::get(), false);
  module.define(code);
  return module;
}

// How often regions ran in this thread.
thread_local int regions = 0;
std::unique_ptr<at::ObserverContext> countRegion(const at::RecordFunction& function) {
  regions += std::strcmp(function.name(), "ipex_studio::region") == 0 ? 1 : 0;
  return nullptr;
}

class Automatic : public testing::Test {
 protected:
  void SetUp() override {
    regions = 0;
    handle_ = at::addGlobalCallback(at::RecordFunctionCallback(&countRegion));
  }
  void TearDown() override { at::removeCallback(handle_); }

  // The results of so many calls are those of the module that was not frozen. Returns how many ran regions.
  int check(Module& module, Module& original, const at::Tensor& x, int calls) {
    const int before = regions;
    for (int i = 0; i < calls; ++i) {
      const at::Tensor result = module.forward({x}).toTensor(), wanted = original.forward({x}).toTensor();
      EXPECT_TRUE(at::allclose(result, wanted, 1e-4, 1e-5));
    }
    return regions - before;
  }

 private:
  at::CallbackHandle handle_;
};

TEST_F(Automatic, FrozenMethodsRunByPlans) {
  const torch::NoGradGuard no_grad;
  Module original = net(), frozen = torch::jit::freeze(original);
  check(frozen, original, at::randn({2, 3, 8, 8}), 4);
  EXPECT_EQ(check(frozen, original, at::randn({2, 3, 8, 8}), 3), 3);
  EXPECT_GT(check(frozen, original, at::randn({5, 3, 6, 6}), 6), 0) << "one plan serves all sizes";
}

TEST_F(Automatic, ModulesWithStateStayAsTheyAre) {
  const torch::NoGradGuard no_grad;
  Module one = net(), other = net();
  EXPECT_EQ(check(one, other, at::randn({2, 3, 8, 8}), 5), 0);
  one.attr("weight").toTensor().mul_(2);
  other.attr("weight").toTensor().mul_(2);
  EXPECT_EQ(check(one, other, at::randn({2, 3, 8, 8}), 3), 0);
}

TEST_F(Automatic, GradientsAreThoseOfLibtorch) {
  Module original = net(), frozen = torch::jit::freeze(original);
  for (int i = 0; i < 4; ++i) {
    at::Tensor x = at::randn({2, 3, 8, 8}).requires_grad_(), y = x.detach().clone().requires_grad_();
    frozen.forward({x}).toTensor().sum().backward();
    original.forward({y}).toTensor().sum().backward();
    EXPECT_TRUE(at::allclose(x.grad(), y.grad(), 1e-4, 1e-5));
    const torch::NoGradGuard no_grad;
    check(frozen, original, x.detach(), 1);
  }
}

TEST_F(Automatic, SeveralResultsAndWritesToArguments) {
  const torch::NoGradGuard no_grad;
  Module original =
      net("def forward(self, x):\n    y = torch.relu(x) * 2\n    return y.sin(), y.neg().sigmoid() + 1\n");
  Module frozen = torch::jit::freeze(original);
  for (int i = 0; i < 4; ++i) {
    const at::Tensor x = at::randn({64, 32});
    const auto result = frozen.forward({x}).toTuple(), wanted = original.forward({x}).toTuple();
    for (int part : {0, 1}) {
      EXPECT_TRUE(at::allclose(result->elements()[part].toTensor(), wanted->elements()[part].toTensor(), 1e-4, 1e-5));
    }
  }
  Module writes = torch::jit::freeze(net("def forward(self, x):\n    return torch.relu(x.add_(1)) * 2\n"));
  for (int i = 0; i < 4; ++i) {
    at::Tensor x = at::zeros({8});
    EXPECT_TRUE(at::equal(writes.forward({x}).toTensor(), at::full({8}, 2.0f)));
    EXPECT_TRUE(at::equal(x, at::ones({8})));
  }
}

TEST_F(Automatic, SeveralThreads) {
  Module original = net(), frozen = torch::jit::freeze(original);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const torch::NoGradGuard no_grad;
      Module mine = original;
      check(frozen, mine, at::full({1 + t, 3, 8, 8}, 0.5), 5);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace ipex_studio
