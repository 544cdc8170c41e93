// Which nodes regions take, and what they leave to the interpreter.
#include <gtest/gtest.h>

#include "tests/core/graph/script_models.h"

namespace ipex_studio {
namespace {

using namespace testing;  // NOLINT: the fixture's names

// Written out by a plan, the result would have many times the memory.
TEST(Regions, ExpansionsThatLeaveAreViews) {
  const Module module = scriptModule(R"(
def forward(self, x):
    y = torch.relu(x)
    return y.unsqueeze(0).expand([50, x.size(0), 4]), y * 2
)");
  OptimizedModel result = expectSame(module, {Inputs{at::randn({3, 4})}, Inputs{at::randn({5, 4})}});
  EXPECT_EQ(regionsIn(result.module), 1);
  const IValue outputs = call(result.module, {at::randn({3, 4})});
  EXPECT_EQ(outputs.toTupleRef().elements()[0].toTensor().stride(0), 0);
}

TEST(Regions, ExpansionsThatPlansReadStayInside) {
  const Module module = scriptModule(R"(
def forward(self, x):
    y = torch.relu(x)
    return torch.cat([y.unsqueeze(0).expand([5, x.size(0), 4]), torch.tanh(y).unsqueeze(0)]) + 1
)");
  const OptimizedModel result = expectSame(module, {Inputs{at::randn({3, 4})}, Inputs{at::randn({5, 4})}});
  EXPECT_EQ(regionsIn(result.module), 1);
  EXPECT_DOUBLE_EQ(result.coverage.nodes, 1);
}

}  // namespace
}  // namespace ipex_studio
