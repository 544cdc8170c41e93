// Nodes that draw random numbers stay what they are: not folded, not merged, not reordered.
#include "core/graph/random_nodes.h"

#include <gtest/gtest.h>

#include "core/torch/random_numbers.h"
#include "tests/core/graph/script_models.h"

namespace ipex_studio {
namespace {

using namespace testing;  // NOLINT: the fixture's names

bool draws(const std::string& source, const Weights& weights = {}) {
  const Module module = scriptModule("def forward(self, x):\n    return " + source + "\n", weights);
  for (torch::jit::Node* node : allNodes(*module.get_method("forward").graph())) {
    if (drawsRandomNumbers(node)) return true;
  }
  return false;
}

TEST(RandomNodes, AreKnownByTheirGenerator) {
  for (const char* source : {"torch.randn_like(x)", "torch.rand([2])", "torch.randint(5, [2])", "torch.bernoulli(x)",
                             "torch.normal(0.0, 1.0, [4])", "x.uniform_(0.0, 1.0)", "torch.dropout(x, 0.5, True)",
                             "torch.native_dropout(x, 0.5, True)[0]", "torch.rrelu(x, 0.1, 0.3, True)",
                             "torch.multinomial(x, 1)", "torch.randperm(4)", "torch.poisson(x)"})
    EXPECT_TRUE(draws(source)) << source;
  for (const char* source : {"torch.relu(x)", "torch.dropout(x, 0.5, False)", "torch.rrelu(x, 0.1, 0.3, False)",
                             "torch.zeros([2])", "torch.batch_norm(x, None, None, x, x, True, 0.1, 0.1, False)"})
    EXPECT_FALSE(draws(source)) << source;
}

TEST(RandomNodes, InsideOfLoops) {
  const Module module =
      scriptModule("def forward(self, x):\n    for i in range(3):\n        x = x + torch.rand_like(x)\n    return x\n");
  bool found = false;
  for (torch::jit::Node* node : module.get_method("forward").graph()->nodes()) found = found || drawsInside(node);
  EXPECT_TRUE(found);
}

// Two draws of constants alone are two, and others at each call.
TEST(RandomNodes, AreNeitherFoldedNorMerged) {
  for (const char* source :
       {"torch.normal(0.0, 1.0, [8])", "torch.native_dropout(torch.ones([64]), 0.5, True)[0]", "torch.rand([8])"}) {
    const std::string draw = source;
    const Module module = scriptModule("def forward(self, x):\n    return " + draw + " + x, " + draw + " + x\n");
    const at::Tensor x = at::zeros({1});
    OptimizedModel result = optimized(module, {x});
    const IValue first = call(result.module, {x}), second = call(result.module, {x});
    EXPECT_NE(difference(first.toTupleRef().elements()[0], first.toTupleRef().elements()[1]), "") << source;
    EXPECT_NE(difference(first, second), "") << source;
  }
}

// The last draw depends on sizes alone, so its node could run before the others.
TEST(RandomNodes, KeepTheirOrder) {
  const Module module = scriptModule(R"(
def forward(self, x):
    y = torch.relu(torch.linear(x, self.w))
    z = torch.tanh(torch.linear(y + torch.randn_like(y), self.w))
    u = torch.sigmoid(torch.linear(z + torch.randn_like(z), self.w))
    return torch.relu(u + torch.randn([2, 8]) * 0.5)
)",
                                     {{"w", weight({8, 8})}});
  const at::Tensor x = at::randn({2, 8});
  OptimizedModel result = optimized(module, {x});
  EXPECT_GE(regionsIn(result.module), 1);
  const std::vector<AccuracyRecord> records = verifyModule(module, result.module, {{x}, {x}}, "");
  EXPECT_TRUE(records[0].pass) << records[0].text;
}

}  // namespace
}  // namespace ipex_studio
