// Faults put into models on purpose, and what the search says of them.
#include "passes/fault_search.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/graph/fused_op.h"
#include "core/graph/graph_index.h"
#include "tests/core/graph/script_models.h"

namespace ipex_studio {
namespace {

using namespace testing;  // NOLINT: the fixture's names

Module network() {
  return scriptModule(
      "def forward(self, x):\n"
      "    a = torch.relu(torch.linear(x, self.w1))\n"
      "    b = torch.relu(torch.linear(a, self.w2))\n"
      "    return torch.linear(b, self.w3)\n",
      {{"w1", weight({16, 8})}, {"w2", weight({16, 16})}, {"w3", weight({4, 16})}});
}

bool isNamed(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// The last node of the model that comes from the second product, in the order of the original.
constexpr OriginId kSecondProduct = 2;

// Scales the weights of the fused product in a graph whose nodes have these origins; true if there is one.
bool scaleFusedWeights(Module& module, const std::vector<std::vector<OriginId>>& origins) {
  auto graph = module.get_method("forward").graph();
  std::size_t index = 0;
  for (torch::jit::Node* node : graph->nodes()) {
    if (node->kind() == c10::prim::Constant) continue;
    const auto& ids = origins.at(index++);
    if (!std::binary_search(ids.begin(), ids.end(), kSecondProduct)) continue;
    const auto op = readFusedOp(node);
    if (!op || op->spec.post_ops.empty()) continue;
    const torch::jit::WithInsertPoint point(node);
    node->replaceInput(1, graph->insertConstant(*constantTensor(node->input(1)) * 1.5));
    return true;
  }
  return false;
}

WrongModel wrongModel(const Module& original, const Inputs& inputs) {
  WrongModel wrong;
  wrong.original = original;
  wrong.steps = {inputs};
  return wrong;
}

TEST(FaultSearch, NamesTheRewriteAndTheFirstWrongNode) {
  const Module original = network();
  const Inputs inputs{at::randn({2, 8})};
  WrongModel wrong = wrongModel(original, inputs);
  wrong.make = [&](const OptimizeOptions& options, Observer& observer) {
    OptimizeOptions interpreted = options;
    interpreted.plan_regions = false;
    OptimizedModel model = optimizeModel(original, inputs, interpreted, observer);
    scaleFusedWeights(model.module, model.rewritten_origins);
    scaleFusedWeights(model.rewritten, model.rewritten_origins);
    return model;
  };
  const auto fault = findFault(wrong);
  ASSERT_TRUE(fault);
  EXPECT_EQ(passOfRewrite(fault->leave_out), "fuse-activation");
  EXPECT_NE(fault->leave_out.find('#'), std::string::npos) << fault->leave_out;
  EXPECT_NE(fault->text.find("fuse-activation"), std::string::npos) << fault->text;
  EXPECT_NE(fault->text.find("the first wrong node is aten::relu with"), std::string::npos) << fault->text;
  // Nothing but that one is left out.
  OptimizeOptions options;
  options.disabled_passes = {fault->leave_out};
  const OptimizedModel mended = optimized(original, inputs, options), whole = optimized(original, inputs);
  EXPECT_EQ(mended.rewrites.rewrites, whole.rewrites.rewrites - 1);
}

TEST(FaultSearch, NamesThePlannedOperation) {
  const Module original = network();
  const Inputs inputs{at::randn({2, 8})};
  const OptimizedModel whole = optimized(original, inputs);
  std::string name;
  for (const std::vector<OriginId>& ids : whole.rewritten_origins) {
    if (std::binary_search(ids.begin(), ids.end(), kSecondProduct)) name = rewriteName(kLowerToPlanName, ids);
  }
  ASSERT_FALSE(name.empty());
  WrongModel wrong = wrongModel(original, inputs);
  wrong.make = [&](const OptimizeOptions& options, Observer& observer) {
    const bool planned = options.plan_regions && !isNamed(options.disabled_passes, name);
    if (!planned) return optimizeModel(original, inputs, options, observer);
    OptimizeOptions interpreted = options;
    interpreted.plan_regions = false;
    OptimizedModel model = optimizeModel(original, inputs, interpreted, observer);
    scaleFusedWeights(model.module, model.rewritten_origins);
    return model;
  };
  const auto fault = findFault(wrong);
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->leave_out, name);
}

TEST(FaultSearch, SaysNothingWhereOneThingIsNotEnough) {
  const Module original = network();
  const Inputs inputs{at::randn({2, 8})};
  WrongModel wrong = wrongModel(original, inputs);
  const Module other = network();  // of other weights
  wrong.make = [&](const OptimizeOptions& options, Observer& observer) {
    return optimizeModel(other, inputs, options, observer);
  };
  EXPECT_FALSE(findFault(wrong));
  wrong.make = [&](const OptimizeOptions& options, Observer& observer) {
    return optimizeModel(original, inputs, options, observer);
  };
  EXPECT_FALSE(findFault(wrong));  // right after all
}

TEST(LeftOut, OperationsStayWithTheInterpreter) {
  const Module original = network();
  const Inputs inputs{at::randn({2, 8})};
  const OptimizedModel whole = optimized(original, inputs);
  for (const std::vector<OriginId>& ids : whole.rewritten_origins) {
    if (ids.empty()) continue;
    OptimizeOptions options;
    options.disabled_passes = {rewriteName(kLowerToPlanName, ids)};
    OptimizedModel without = optimized(original, inputs, options);
    EXPECT_LT(without.coverage.nodes, 1) << options.disabled_passes[0];
    EXPECT_EQ(difference(original, without.module, inputs), "");
  }
}

}  // namespace
}  // namespace ipex_studio
