// `--limit N` is how a person finds a wrong rewrite, so every N gives a graph that is sound, runs and is right.
#include <gtest/gtest.h>

#include "core/graph/graph_fault.h"
#include "passes/optimize.h"
#include "tests/core/graph/script_models.h"

namespace ipex_studio {
namespace {

using namespace testing;  // NOLINT: the fixture's names

struct LimitedModel {
  const char* name;
  std::string body;                              // of forward(self, x)
  std::vector<std::vector<std::int64_t>> sizes;  // of x: the example, then others
};

const std::vector<LimitedModel>& limitedModels() {
  static const std::vector<LimitedModel> models = {
      {"lists that are filled",
       "    parts: List[Tensor] = []\n"
       "    for i in range(3):\n        parts.append(torch.relu(x[:, i]) * (i + 1))\n"
       "    parts.append(x[:, -1])\n    y = torch.stack(parts, 1)\n"
       "    return torch.cat([y, x], 1).sum(1), torch.cat(parts).size(0)\n",
       {{2, 4, 8}, {3, 4, 8}}},
      {"lists that are filled by a loop over sizes",
       "    parts: List[Tensor] = []\n    n = -((-x.size(1)) // 4)\n"
       "    for i in range(n - 1):\n        a = (i + 1) * 4\n        parts.append(x[:, a:a + 2])\n"
       "    parts.append(x[:, x.size(1) - 2:])\n    r = torch.cat(parts, 1)\n    u = x[:, :x.size(1) - 2]\n"
       "    return torch.linear(torch.cat([r, u], 1), self.w, self.b), r, u\n",
       {{1, 18, 8}, {2, 9, 8}, {1, 23, 8}}},
  };
  return models;
}

struct RewriteCount : WholePipeline {
  std::int64_t rewrites = 0;
  void onPass(const PassRecord& record) override {
    if (record.name != kLowerToPlanName) rewrites += record.rewrites;
  }
};

TEST(EveryLimit, GivesARightGraph) {
  for (const LimitedModel& model : limitedModels()) {
    SCOPED_TRACE(model.name);
    at::manual_seed(4);
    const at::Tensor positive = at::rand({4}) + 0.5;
    const Module module = scriptModule("def forward(self, x):\n" + model.body, {{"w", weight({8, 8})},
                                                                                {"b", weight({8})},
                                                                                {"c", weight({4, 1, 3, 3})},
                                                                                {"d", weight({4, 4, 3, 3})},
                                                                                {"g", positive}});
    std::vector<Inputs> inputs;
    for (const auto& sizes : model.sizes) inputs.push_back({at::randn(sizes)});
    RewriteCount count;
    optimizeModel(module, {inputs[0][0].deepcopy()}, {}, count);
    EXPECT_GT(count.rewrites, 0);
    for (std::int64_t limit = 0; limit <= count.rewrites; ++limit) {
      SCOPED_TRACE(limit);
      OptimizeOptions options;
      options.rewrite_limit = limit;
      const OptimizedModel result = expectSame(module, inputs, options);
      EXPECT_EQ(graphFault(*result.module.get_method("forward").graph()), "");
      EXPECT_EQ(graphFault(*result.rewritten.get_method("forward").graph()), "");
      if (HasFailure()) break;
    }
  }
}

}  // namespace
}  // namespace ipex_studio
