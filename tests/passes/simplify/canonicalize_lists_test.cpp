// Indices that a model holds as buffers: freezing makes a constant list of them, which plans take like any other.
#include <gtest/gtest.h>

#include "tests/core/graph/script_models.h"

namespace ipex_studio {
namespace {

using namespace testing;  // NOLINT: the fixture's names

constexpr const char* kChoosesPairs = R"(
def forward(self, x):
    return torch.relu(x[:, self.rows, self.columns]) + x[:, self.rows, 0]
)";

TEST(CanonicalizeLists, ConstantIndicesArePlanned) {
  const Module module = scriptModule(
      kChoosesPairs, {{"rows", at::tensor({2, 0, 1, 2}, at::kLong)}, {"columns", at::tensor({0, 3, 3, 1}, at::kLong)}});
  const OptimizedModel result = expectSame(module, {{at::randn({2, 3, 4})}, {at::randn({5, 3, 4})}});
  EXPECT_EQ(result.coverage.nodes, 1.0);
}

}  // namespace
}  // namespace ipex_studio
