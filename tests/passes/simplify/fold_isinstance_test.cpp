// Functions that take a tensor or a list of them lose the branch for the other once they are inlined.
#include <gtest/gtest.h>

#include "tests/core/graph/script_models.h"

namespace ipex_studio {
namespace {

using namespace testing;  // NOLINT: the fixture's names

Module eitherOne() {
  Module module("M");
  module.define(R"(
def joined(self, x: Union[Tensor, List[Tensor]]) -> Tensor:
    if isinstance(x, List[Tensor]):
        y = torch.zeros([1])
        for part in x:
            y = y + part.sum()
    else:
        y = torch.exp(x)
    return y

def forward(self, x):
    return torch.relu(self.joined(torch.tanh(x)) + 1.0)
)");
  module.eval();
  return module;
}

bool asksTypes(const OptimizedModel& model) {
  const auto graph = model.rewritten.get_method("forward").graph();
  return std::any_of(graph->nodes().begin(), graph->nodes().end(),
                     [](const torch::jit::Node* node) { return node->kind() == c10::prim::isinstance; });
}

TEST(FoldIsinstance, TakesTheBranchOfTheType) {
  const OptimizedModel result = expectSame(eitherOne(), {{at::randn({4, 8})}, {at::randn({7, 8})}});
  EXPECT_FALSE(asksTypes(result));
  EXPECT_EQ(result.coverage.nodes, 1.0);
}

// The branch that is not taken casts to a list, which is no tensor under another name.
TEST(FoldIsinstance, ThePassCanBeLeftOut) {
  OptimizeOptions options;
  options.disabled_passes = {"fold-isinstance"};
  EXPECT_TRUE(asksTypes(expectSame(eitherOne(), {{at::randn({4, 8})}}, options)));
}

}  // namespace
}  // namespace ipex_studio
