// Regions and the nodes between them stay in an order in which each value is computed before it is read.
#include <gtest/gtest.h>

#include "core/pipeline/graph_fault.h"
#include "tests/core/graph/script_models.h"

namespace ipex_studio {
namespace {

using namespace testing;  // NOLINT: the fixture's names

OptimizedModel expectOrdered(const std::string& body) {
  SCOPED_TRACE(body);
  const Module module = scriptModule("def forward(self, x):\n" + body, {{"w", weight({4})}});
  OptimizedModel result = expectSame(module, {{at::randn({3, 4, 4})}, {at::randn({2, 4, 4})}, {at::randn({3, 4, 4})}});
  EXPECT_EQ(graphFault(*result.module.get_method("forward").graph()), "");
  return result;
}

// A new tensor takes its dtype from a value of a later region, and only views and writes read it.
TEST(RegionOrder, FactoriesOfLaterRegions) {
  const char* const kBeginnings[] = {
      "    c = x.as_strided([x.size(0), 4, 4], [16, 4, 1])\n    d = torch.matmul(c, c)\n",
      "    c = torch.special_i0(x)\n    d = c * 2\n", "    c = torch.special_i0(x)\n    d = torch.matmul(c, c)\n"};
  const char* const kEnds[] = {
      "    o = d.new_zeros([x.size(0) + 1, 4, 5])\n    o[:-1, :, 2:] = d[:, :, :3]\n    return o\n",
      "    o = torch.zeros([x.size(0) + 1, 4, 5])\n    o[:-1, :, 2:] = d[:, :, :3]\n    return o\n",
      "    o = d.new_zeros([x.size(0) + 1, 4, 5])\n    o[:-1][:, :, 2:] = d[:, :, :3]\n    return o\n",
      "    o = d.new_zeros([x.size(0), 4, 4])\n    o[:, :-1, 2:] = d[:, 1:, :2]\n    o[:, -1, 2:] = d[:, -1, 1:3]\n"
      "    o[:, 1:, :2] = d[:, :-1, 2:4]\n    o[:, 0, 1:2] = d[:, 0, :1]\n"
      "    return o.view([-1, 1, 4, 4]).transpose(2, 1)\n",
      "    o = d.new_ones([d.size(2), d.size(1)])\n    return o.t()[1:], d + self.w\n",
      "    o = torch.zeros_like(d[0])\n    v = o[1:]\n    return torch.special_i0(v), v * 2 + d[:, 1:]\n",
  };
  for (const char* beginning : kBeginnings) {
    for (const char* end : kEnds) expectOrdered(std::string(beginning) + end);
  }
}

// Views that no region computes with stay with the interpreter; those that read them stay behind them.
TEST(RegionOrder, ViewsBetweenTheInterpreterAndRegions) {
  expectOrdered(
      "    a = torch.special_i0(x)\n    v = a[:, 1:]\n    b = torch.special_i0(v)\n    n = v.size(1)\n"
      "    return torch.tanh(b) * n, v.transpose(1, 2)\n");
  expectOrdered(
      "    a = torch.special_i0(x)\n    v = a.transpose(1, 2)\n    u = v[:, :2]\n    b = torch.special_i0(u)\n"
      "    c = torch.relu(b) + u\n    return torch.special_i0(c.flatten(1)), v.reshape([-1, 4]) + self.w\n");
  expectOrdered(
      "    a = x[:, 1:]\n    s = a.size(1) * 2\n    b = torch.special_i0(a)\n    t = b.flatten(1)\n"
      "    r = t.view([t.size(0), -1, s // 2])\n    c = torch.special_i0(r)\n"
      "    return torch.cat([c, r.tanh()], 2), torch.zeros([s, 2]) + 1\n");
}

// Regions give row-major results; where the model's lie otherwise and a node reads that, the model's own nodes run.
TEST(RegionOrder, StridesThatAreRead) {
  for (const char* body : {
           "    q = torch.linear(x, self.v)\n    t = q.transpose(0, 1)\n"
           "    a = t.as_strided([2, x.size(0), 4], [4, 16, 1])\n    return torch.tanh(a) + 1\n",
           "    q = torch.linear(x, self.v).permute([1, 0, 2]).reshape([4, -1, 4])\n"
           "    return torch.exp(torch.as_strided(q, [x.size(0), 2, 4], [16, 8, 1])) * 2\n",
           "    t = torch.tanh(x.transpose(0, 2))\n    return t.as_strided([4, x.size(0)], [1, 4]) * 2, t + 1\n",
           "    a, b = torch.tanh(x).chunk(2, 1)\n    return b.as_strided([x.size(0), 4], [16, 1]) + a.sum()\n",
           "    y = torch.exp(x)[:, 1:, 2:]\n    return y.as_strided([x.size(0), 2], [16, 4]) * 2\n",
           "    t = torch.relu(x).permute([1, 2, 0])\n"
           "    return torch.relu(x) * t.stride(0) + t.stride(2), t.is_contiguous()\n",
           "    y = torch.sigmoid(x)\n    if x.size(0) > 2:\n        y = y.transpose(1, 2)\n"
           "    return y.as_strided([x.size(0), 3], [16, 1]) * 2.0\n",
       }) {
    SCOPED_TRACE(body);
    const Module module =
        scriptModule(std::string("def forward(self, x):\n") + body, {{"w", weight({4})}, {"v", weight({4, 4})}});
    expectSame(module, {{at::randn({3, 4, 4})}, {at::randn({2, 4, 4})}, {at::randn({5, 4, 4})}});
  }
}

TEST(RegionOrder, ViewsOnlyARegionReadsGoIntoIt) {
  const OptimizedModel result = expectOrdered(
      "    c = torch.special_i0(x)\n    d = torch.matmul(c, c)\n    o = d.new_zeros([x.size(0) + 1, 4, 5])\n"
      "    o[:-1, :, 2:] = d[:, :, :3]\n    return o\n");
  EXPECT_EQ(regionsIn(result.module), 1);
  const std::string text = result.module.get_method("forward").graph()->toString(false);
  EXPECT_EQ(text.find("new_zeros"), std::string::npos) << text;
}

}  // namespace
}  // namespace ipex_studio
