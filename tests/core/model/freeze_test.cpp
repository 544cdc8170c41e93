// What freezing leaves of a module for passes.
#include <gtest/gtest.h>

#include "core/graph/origins.h"
#include "core/model/model.h"

namespace ipex_studio {
namespace {

TEST(FreezeForPasses, LeavesNoScopes) {
  torch::jit::Module module("layers");
  module.define("def forward(self, x):\n  return x.relu() * 2\n");
  module.eval();
  const auto scope = c10::make_intrusive<torch::jit::Scope>()->push(c10::Symbol::scope("layer"));
  for (torch::jit::Node* node : allNodes(*module.get_method("forward").graph(), /*with_constants=*/true)) {
    node->setScope(scope);
  }
  const torch::jit::Module frozen = freezeForPasses(module, {});
  for (torch::jit::Node* node : allNodes(*frozen.get_method("forward").graph(), /*with_constants=*/true)) {
    EXPECT_EQ(node->scopeName(), "") << *node;
  }
}

}  // namespace
}  // namespace ipex_studio
