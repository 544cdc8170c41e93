// `--limit N` is how a person finds a wrong rewrite, so every N gives a graph that is sound, runs and is right.
#include <gtest/gtest.h>

#include "core/pipeline/graph_fault.h"
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
      {"a join of what a loop appends",
       "    kept = [x]\n    for i in range(x.size(0)):\n        kept.append(x[:i + 1] * 2)\n"
       "    y = torch.cat(kept)\n    return y.sum(0) / y.size(0), torch.linear(y, self.w)\n",
       {{1, 8}, {3, 8}}},
      {"slices and writes into slices",
       "    y = torch.linear(x, self.w, self.b)\n    o = y.new_zeros([y.size(0), 4, 10])\n"
       "    o[:, :-1, 2:] = y[:, 1:]\n    o[:, -1, 2:] = y[:, 0]\n    o[:, 1:, :2] += y[:, 1:, 3:5]\n"
       "    o[:, 0].mul_(2)\n    return torch.softmax(o, -1), o.transpose(1, 2)[:, ::2]\n",
       {{2, 4, 8}, {1, 4, 8}, {5, 4, 8}}},
      {"a factory of a later region",
       "    c = torch.special_i0(x)\n    d = torch.matmul(c, c.transpose(1, 2))\n"
       "    o = d.new_zeros([d.size(0) + 1, 4, 5])\n    o[:-1, :, 2:] = d[:, :, :3]\n    o[:-1][:, 0, :2] = d[:, 1, "
       "1:3]\n"
       "    return torch.special_i0(o), torch.relu(o) + 1\n",
       {{3, 4, 8}, {1, 4, 8}}},
      {"views and in-place arithmetic",
       "    y = torch.linear(x, self.w)\n    v = y.view([-1, 2, 4])\n    v.mul_(2)\n    z = torch.relu(y) + 1\n"
       "    z.add_(v.flatten(1).view_as(z))\n    z[:, 0].clamp_(-1, 1)\n"
       "    return z.permute([1, 0, 2]).contiguous().flatten(1), y\n",
       {{2, 4, 8}, {3, 4, 8}}},
      {"conditions",
       "    y = torch.gelu(torch.linear(x, self.w, self.b))\n"
       "    if x.size(0) > 2:\n        y = torch.sigmoid(y) * x\n        z = y[:, 1:]\n"
       "    else:\n        z = (y + x)[:, :-1]\n"
       "    if bool(x.sum() > 1000):\n        z = z * 2\n"
       "    assert z.size(1) == 3\n    return torch.tanh(z) * x.size(0), y\n",
       {{2, 4, 8}, {3, 4, 8}}},
      {"loops",
       "    y = x\n    n = 0\n    while n < 3 and bool(y.abs().max() < 1e6):\n"
       "        y = torch.relu(torch.linear(y, self.w)) + x\n        n += 1\n"
       "    for i in range(x.size(1)):\n        y[:, i] += float(i)\n    return y, n\n",
       {{2, 4, 8}, {1, 4, 8}}},
      {"attention and normalization",
       "    q = torch.linear(x, self.w, self.b).view([x.size(0), x.size(1), 2, 4]).transpose(1, 2)\n"
       "    k = torch.linear(x, self.w).view([x.size(0), x.size(1), 2, 4]).transpose(1, 2)\n"
       "    a = torch.softmax(torch.matmul(q, k.transpose(-1, -2)) / 2.0 + 0.5, -1)\n"
       "    y = torch.matmul(a, q).transpose(1, 2).contiguous().view([x.size(0), x.size(1), 8])\n"
       "    m = y.mean(-1, keepdim=True)\n    d = y - m\n"
       "    y = d / torch.sqrt(d.pow(2).mean(-1, keepdim=True) + 1e-5) * self.b + x\n"
       "    return torch.layer_norm(y + x, [8], self.b, self.b, 1e-5), torch.einsum('bij,bkj->bik', [y, x])\n",
       {{2, 4, 8}, {1, 6, 8}}},
      {"convolutions and several regions",
       "    c = x.unsqueeze(1)\n    y = torch.conv2d(c, self.c, None, [1, 1], [1, 1], [1, 1], 1)\n"
       "    y = torch.batch_norm(y, self.g, self.g, self.g, self.g, False, 0.1, 1e-5, False)\n"
       "    y = y * torch.sigmoid(y)\n    i = torch.special_i0(y * 0.1)\n"
       "    z = torch.constant_pad_nd(torch.relu(i + y), [1, 1, 1, 1], 0.0)\n"
       "    z = torch.conv2d(z, self.d, None, [1, 1], [0, 0], [1, 1], 1) + y\n"
       "    parts = torch.special_i0(torch.tanh(z)).chunk(2, 1)\n"
       "    return torch.dropout(torch.cat([parts[1], parts[0]], 1).mean([2, 3]), 0.5, False), z.amax([2, 3])\n",
       {{2, 4, 8}, {1, 6, 8}}},
  };
  return models;
}

struct RemarkCount : WholePipeline {
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
    RemarkCount count;
    optimizeModel(module, {inputs[0][0].deepcopy()}, {}, count);
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
