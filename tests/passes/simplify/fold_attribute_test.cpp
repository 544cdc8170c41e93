// Attributes that nothing writes to any more once branches are taken are constants; all others stay attributes.
#include <gtest/gtest.h>

#include "tests/core/graph/script_models.h"

namespace ipex_studio {
namespace {

using namespace testing;  // NOLINT: the fixture's names

// Freezing keeps `w`: a branch that matrices do not take writes into a list that holds it.
constexpr const char* kOtherBranchWrites = R"(
def forward(self, x):
    y = [x, self.w]
    if x.dim() == 3:
        y[1].add_(1.0)
    return torch.relu(torch.matmul(x, self.w))
)";

Module otherBranchWrites() { return scriptModule(kOtherBranchWrites, {{"w", weight({8, 16})}}); }

// True if the rewritten graph reads an attribute of this name.
bool reads(const OptimizedModel& model, const std::string& name) {
  const auto graph = model.rewritten.get_method("forward").graph();
  for (const torch::jit::Node* node : graph->nodes()) {
    if (node->kind() == c10::prim::GetAttr && node->s(c10::attr::name) == name) return true;
  }
  return false;
}

TEST(FoldAttribute, WrittenInABranchThatIsNotTaken) {
  const Module module = otherBranchWrites();
  ASSERT_TRUE(freezeForPasses(module, {}).hasattr("w"));
  const OptimizedModel result = expectSame(module, {{at::randn({4, 8})}, {at::randn({7, 8})}});
  EXPECT_FALSE(reads(result, "w"));
  EXPECT_EQ(result.coverage.nodes, 1.0);
}

// The branch that matrices do not take returns the weight itself.
TEST(FoldAttribute, ReturnedInABranchThatIsNotTaken) {
  const Module module = scriptModule(R"(
def forward(self, x):
    scale: Optional[Tensor] = None
    if x.dim() == 3:
        scale = self.w
    y = torch.relu(torch.matmul(x, self.w))
    return y, scale
)",
                                     {{"w", weight({8, 16})}});
  const OptimizedModel result = expectSame(module, {{at::randn({4, 8})}, {at::randn({7, 8})}});
  EXPECT_FALSE(reads(result, "w"));
  EXPECT_EQ(result.coverage.nodes, 1.0);
}

TEST(FoldAttribute, ThePassCanBeLeftOut) {
  OptimizeOptions options;
  options.disabled_passes = {"fold-attribute"};
  EXPECT_TRUE(reads(expectSame(otherBranchWrites(), {{at::randn({4, 8})}}, options), "w"));
}

TEST(FoldAttribute, PreservedOnesStay) {
  OptimizeOptions options;
  options.preserved_methods = {"w"};
  EXPECT_TRUE(reads(expectSame(otherBranchWrites(), {{at::randn({4, 8})}}, options), "w"));
}

TEST(FoldAttribute, StaysWhereTheBranchIsTaken) {
  const Module module = otherBranchWrites();
  EXPECT_TRUE(reads(expectSame(module, {{at::randn({2, 4, 8})}}), "w"));
}

TEST(FoldAttribute, StaysWhereAMethodMayWrite) {
  const Module module = scriptModule(std::string(kOtherBranchWrites) + R"(
def reset(self):
    self.w.zero_()
)",
                                     {{"w", weight({8, 16})}});
  OptimizeOptions options;
  options.preserved_methods = {"reset"};
  OptimizedModel result = expectSame(module, {{at::randn({4, 8})}}, options);
  result.module.get_method("reset")({});
  const at::Tensor y = call(result.module, {at::randn({4, 8})}).toTensor();
  EXPECT_EQ(y.abs().max().item<float>(), 0);
}

TEST(FoldAttribute, StaysWhereItIsAssigned) {
  const Module module = scriptModule(R"(
def forward(self, x):
    y = torch.matmul(x, self.w)
    self.w = self.w * 0.5
    return y
)",
                                     {}, {{"w", weight({8, 16})}});
  const std::vector<Inputs> steps{{at::randn({4, 8})}, {at::randn({4, 8})}, {at::randn({4, 8})}};
  OptimizedModel result = optimized(module, steps[0]);
  for (const AccuracyRecord& record : verifyModule(module, result.module, steps, "")) {
    EXPECT_TRUE(record.pass) << record.text;
  }
}

TEST(FoldAttribute, StaysWhereItIsAResult) {
  const Module module = scriptModule(R"(
def forward(self, x):
    y = [x, self.w]
    if x.dim() == 3:
        y[1].add_(1.0)
    return torch.matmul(x, self.w), self.w
)",
                                     {{"w", weight({8, 16})}});
  OptimizedModel result = expectSame(module, {{at::randn({4, 8})}});
  EXPECT_TRUE(reads(result, "w"));
}

}  // namespace
}  // namespace ipex_studio
