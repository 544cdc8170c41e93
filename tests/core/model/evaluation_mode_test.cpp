// What tracing recorded of a module that trained computes as the module does in evaluation mode.
#include "core/model/evaluation_mode.h"

#include <gtest/gtest.h>

#include "tests/core/graph/script_models.h"

namespace ipex_studio {
namespace {

using namespace testing;  // NOLINT: the fixture's names

// Running statistics, and the count of batches that tracing leaves beside them.
std::vector<std::pair<std::string, at::Tensor>> statistics() {
  return {
      {"mean", at::randn({3})}, {"variance", at::rand({3}) + 0.5}, {"num_batches_tracked", at::zeros({}, at::kLong)}};
}

TEST(EvaluationMode, DropoutHandsItsInputOn) {
  Module module = scriptModule(
      "def forward(self, x):\n"
      "    y = torch.dropout(x, 0.5, True)\n"
      "    z = torch.feature_dropout(y, 0.5, True)\n"
      "    return torch.alpha_dropout_(z + 1, 0.5, True)\n");
  EXPECT_EQ(bringIntoEvaluation(module), 3);
  const at::Tensor x = at::randn({2, 3, 4, 4});
  EXPECT_EQ(difference(call(module, {x}), x + 1), "");
}

TEST(EvaluationMode, NormsUseTheirStatisticsAndCountNothing) {
  const auto buffers = statistics();
  Module module = scriptModule(
      "def forward(self, x):\n"
      "    self.num_batches_tracked.add_(1)\n"
      "    y = torch.batch_norm(x, None, None, self.mean, self.variance, True, 0.1, 1e-5, False)\n"
      "    return torch.instance_norm(y, None, None, self.mean, self.variance, True, 0.1, 1e-5, False)\n",
      {}, buffers);
  EXPECT_EQ(bringIntoEvaluation(module), 2);
  const at::Tensor x = at::randn({2, 3, 4, 4}), mean = buffers[0].second.clone(), variance = buffers[1].second.clone();
  const auto norm = [&](const at::Tensor& value) {
    return at::batch_norm(value, {}, {}, mean, variance, false, 0.1, 1e-5, false);
  };
  EXPECT_EQ(difference(call(module, {x}), norm(norm(x))), "");
  EXPECT_TRUE(module.attr("mean").toTensor().equal(mean));
  EXPECT_EQ(module.attr("num_batches_tracked").toTensor().item<std::int64_t>(), 0);
}

TEST(EvaluationMode, NormsWithoutStatisticsStay) {
  Module module = scriptModule(
      "def forward(self, x):\n"
      "    y = torch.batch_norm(x, None, None, None, None, True, 0.1, 1e-5, False)\n"
      "    return torch.instance_norm(y, None, None, None, None, True, 0.1, 1e-5, False)\n");
  const at::Tensor x = at::randn({2, 3, 4, 4});
  const at::Tensor expected = call(module, {x}).toTensor().clone();
  EXPECT_EQ(bringIntoEvaluation(module), 0);
  EXPECT_EQ(difference(call(module, {x}), expected), "");
}

TEST(EvaluationMode, ModesThatAreAskedForAtRunTimeStay) {
  Module module = scriptModule("def forward(self, x, train: bool):\n    return torch.dropout(x, 0.5, train)\n");
  EXPECT_EQ(bringIntoEvaluation(module), 0);
  const at::Tensor x = at::ones({64, 64});
  EXPECT_EQ(difference(call(module, {x, false}), x), "");
  EXPECT_NE(difference(call(module, {x, true}), x), "");
}

}  // namespace
}  // namespace ipex_studio
