// Regions in the branches of conditions and in bodies of loops give the same results as eager, with any aliasing.
#include <gtest/gtest.h>

#include "tests/core/graph/script_models.h"

namespace ipex_studio {
namespace {

using namespace testing;  // NOLINT: the fixture's names

OptimizedModel expectSameBothWays(const std::string& body) {
  const Module module = scriptModule("def forward(self, x):\n" + body, {{"w", weight({4})}});
  return expectSame(module, {Inputs{at::randn({2, 4})}, Inputs{at::randn({1, 4})}, Inputs{at::randn({3, 4})}});
}

TEST(BranchRegions, TheBranchThatWasSeenIsARegion) {
  const OptimizedModel result = expectSameBothWays(
      "    y = torch.tanh(x)\n"
      "    if x.size(0) > 1:\n        y = torch.relu(y) * 2.0 + self.w\n"
      "    else:\n        y = torch.sigmoid(y) - self.w\n"
      "    return torch.exp(y)\n");
  EXPECT_EQ(regionsIn(result.module), 3);  // before, the branch that the example took, behind
}

TEST(BranchRegions, BranchesInBranches) {
  const OptimizedModel result = expectSameBothWays(
      "    if x.size(0) > 1:\n        y = torch.relu(x) * 2.0\n"
      "        if x.size(0) < 3:\n            y = torch.tanh(y + self.w)\n"
      "        y = y - self.w\n"
      "    else:\n        y = x * self.w\n"
      "    return y\n");
  EXPECT_GE(regionsIn(result.module), 2);
}

// The outer branch, which computes most, comes after all those nested in it.
TEST(BranchRegions, WhereThereAreManyTheLargestHaveRegions) {
  std::string body =
      "    y = x\n"
      "    if x.size(0) > 1:\n"
      "        y = torch.relu(torch.linear(x, self.w)) * self.v + self.v\n"
      "        y = torch.tanh(torch.linear(y, self.w)) * self.v\n";
  for (int i = 0; i < 80; ++i)
    body += "        if bool(x[0, 0] > " + std::to_string(0.01 * i) + "):\n            y = y * self.v\n";
  const Module module =
      scriptModule("def forward(self, x):\n" + body + "    return y\n", {{"w", weight({4, 4})}, {"v", weight({4})}});
  OptimizedModel result = expectSame(module, {Inputs{at::ones({2, 4})}, Inputs{at::ones({1, 4})}});
  EXPECT_EQ(regionsIn(result.module), 64);
  const std::string text = result.module.get_method("forward").graph()->toString(false);
  EXPECT_EQ(text.find("aten::linear"), std::string::npos) << text;
}

TEST(BranchRegions, ViewsAndWritesAcrossBranches) {
  expectSameBothWays(
      "    y = x * 2.0\n"
      "    if x.size(0) > 1:\n        z = y[0:1]\n"
      "    else:\n        z = y\n"
      "    z.add_(1.0)\n    return torch.relu(y), z\n");
  expectSameBothWays(
      "    y = torch.tanh(x)\n    v = y[0]\n"
      "    if x.size(0) > 1:\n        y.mul_(self.w)\n        r = torch.exp(y) + v\n        y.add_(r)\n"
      "    else:\n        r = y - self.w\n"
      "    return y, v, r\n");
  expectSameBothWays(
      "    if x.size(0) > 1:\n        y = torch.relu(x)\n        r = (y, y[0:1] * 2.0, y)\n"
      "    else:\n        r = (x, torch.exp(x), x * 1.0)\n"
      "    a, b, c = r\n    return a + 1.0, b, c\n");
}

TEST(BranchRegions, ChecksDoNotSplitThem) {
  const OptimizedModel result = expectSameBothWays(
      "    y = torch.tanh(x) * 2.0\n"
      "    assert x.size(0) < 9, '{} rows are too many'.format(x.size(0))\n"
      "    y = torch.relu(y) + self.w\n"
      "    assert y.size(1) == 4\n"
      "    return torch.exp(y) * self.w\n");
  EXPECT_EQ(regionsIn(result.module), 1);
  EXPECT_ANY_THROW(result.module.get_method("forward")({at::randn({10, 4})}));
}

TEST(BranchRegions, BehindACheckASizeIsKnown) {
  const Module module = scriptModule(
      "def forward(self, x):\n"
      "    n = x.size(1)\n"
      "    before = n * 2\n"
      "    assert n == 4, 'expected 4, got {}'.format(n)\n"
      "    a, b = self.u.split([x.size(-1), 8])\n"
      "    return torch.linear(torch.tanh(x), a) + torch.linear(x, b)[:, :4], before\n",
      {{"u", weight({12, 4})}});
  OptimizedModel result = expectSame(module, {Inputs{at::randn({2, 4})}, Inputs{at::randn({3, 4})}});
  EXPECT_EQ(regionsIn(result.module), 1);
  const std::string text = result.rewritten.get_method("forward").graph()->toString(false);
  EXPECT_EQ(text.find("aten::split"), std::string::npos) << text;
  EXPECT_ANY_THROW(result.module.get_method("forward")({at::randn({2, 5})}));
  expectSameBothWays(
      "    if x.size(0) > 1:\n        assert x.size(0) == 2 or x.size(0) == 3\n        if x.size(0) != 2:\n            "
      "x = x * 2.0\n"
      "    return torch.tanh(x) * x.size(0)\n");
}

TEST(BranchRegions, ArgumentsThatMayBeOneTensor) {
  const Module module = scriptModule(
      "def forward(self, q, k):\n"
      "    y = torch.tanh(q) * self.w\n"
      "    if q is k:\n        y = torch.relu(y)\n"
      "    else:\n        y = y + torch.exp(k)\n"
      "    y = y * 2.0 + self.w\n"
      "    if k is not q:\n        y = y - k\n"
      "    return torch.sigmoid(y)\n",
      {{"w", weight({4})}});
  const at::Tensor x = at::randn({2, 4});
  const OptimizedModel result =
      expectSame(module, {{x, at::randn({2, 4})}, {x, x}, {at::randn({3, 4}), at::randn({3, 4})}});
  EXPECT_EQ(regionsIn(result.module), 2);
  expectSame(module, {{x, at::randn({1, 4})}, {x, x}});
}

TEST(BranchRegions, LoopsOfFewRoundsAreWrittenOut) {
  const OptimizedModel result = expectSameBothWays(
      "    y = torch.tanh(x)\n"
      "    sizes = [x.size(0)] + list(x.size()[1:])\n"
      "    count = sizes[0]\n"
      "    for i in range(len(sizes) - 1):\n        count *= sizes[i + 1]\n        y = torch.relu(y + i) * self.w\n"
      "    assert count != 1, 'one value: {}'.format(sizes)\n"
      "    return torch.exp(y) * count\n");
  EXPECT_EQ(regionsIn(result.module), 1);
}

TEST(BranchRegions, CallsWithAndWithoutOptionalArguments) {
  const Module module = scriptModule(
      "def forward(self, x, mask: Optional[Tensor] = None):\n"
      "    y = torch.tanh(x) * self.w\n"
      "    if mask is not None:\n        y = y.masked_fill(mask, 0.5)\n"
      "    y = torch.relu(y) + self.w\n"
      "    if mask is not None:\n        y = y + mask\n"
      "    return y * 3.0\n",
      {{"w", weight({4})}});
  const at::Tensor x = at::randn({2, 4});
  const Inputs without{x, torch::jit::IValue()}, with{x, x > 0};
  const OptimizedModel result = expectSame(module, {without, with, without});
  EXPECT_GE(regionsIn(result.module), 1);
  expectSame(module, {with, without});
}

TEST(BranchRegions, BodiesOfLoopsAreRegions) {
  const Module module = scriptModule(
      "def forward(self, x, n: int):\n"
      "    y = x\n"
      "    for i in range(n):\n"
      "        y = torch.relu(torch.linear(y, self.u)) + x * self.w\n"
      "        if i % 2 == 1:\n            y = torch.tanh(y) * i\n"
      "    return y\n",
      {{"u", weight({4, 4})}, {"w", weight({4})}});
  const auto inputs = [](std::int64_t rows, std::int64_t rounds) { return Inputs{at::randn({rows, 4}), rounds}; };
  const OptimizedModel result = expectSame(module, {inputs(2, 3), inputs(2, 70), inputs(3, 1), inputs(1, 0)});
  EXPECT_EQ(regionsIn(result.module), 2);
  EXPECT_GT(result.coverage.nodes, 0.5);
}

TEST(BranchRegions, BodiesOfLoopsThatEndEarly) {
  const Module module = scriptModule(
      "def forward(self, x):\n"
      "    h = torch.zeros([x.size(1), 4])\n    c = torch.zeros_like(h)\n    out: List[Tensor] = []\n"
      "    t = 0\n"
      "    while t < x.size(0) and bool(c.sum() < 1.0):\n"
      "        h, c = torch.lstm_cell(x[t], [h, c], self.u, self.v, self.a, self.b)\n"
      "        out.append(torch.linear(h, self.w))\n        t += 1\n"
      "    return torch.stack(out), c\n",
      {{"u", weight({16, 4})},
       {"v", weight({16, 4})},
       {"a", weight({16})},
       {"b", weight({16})},
       {"w", weight({3, 4})}});
  const OptimizedModel result =
      expectSame(module, {{at::randn({5, 2, 4})}, {at::randn({9, 3, 4})}, {at::randn({1, 1, 4})}});
  EXPECT_GE(regionsIn(result.module), 1);
}

TEST(BranchRegions, RanksThatChangeBetweenRoundsAreNoFacts) {
  const Module module = scriptModule(
      "def forward(self, x, n: int):\n"
      "    for i in range(n):\n        x = torch.relu(x + 1.0)[0] * 2.0\n"
      "    return x\n");
  const auto inputs = [](std::int64_t rounds) { return Inputs{at::randn({3, 2, 4}), rounds}; };
  expectSame(module, {inputs(1), inputs(2), inputs(3), inputs(0)});
  expectSame(module, {inputs(2), inputs(1), inputs(3)});
}

TEST(BranchRegions, RanksBehindALoopAreNoFactsEither) {
  const Module module = scriptModule(
      "def forward(self, x, n: int):\n"
      "    for i in range(n):\n        x = torch.relu(x + 1.0)[0] * 2.0\n"
      "    if n > 0:\n        x = torch.tanh(x) * 3.0\n"
      "    return torch.sigmoid(torch.relu(x * 2.0) + 1.0)\n");
  const auto inputs = [](std::int64_t rounds) { return Inputs{at::randn({3, 2, 4}), rounds}; };
  expectSame(module, {inputs(1), inputs(2), inputs(3), inputs(0)});
}

// A detector that finds nothing does not reshape its boxes.
TEST(BranchRegions, RanksThatDifferBetweenBranchesAreNoFacts) {
  const Module module = scriptModule(
      "def forward(self, x, n: int):\n"
      "    y = torch.tanh(x) * 2.0\n"
      "    if n > 0:\n        y = y.reshape(n, -1, 2)\n"
      "    y = torch.relu(y * 3.0) + 1.0\n"
      "    z = torch.linear(y.reshape(-1, 4), self.w)\n"
      "    return y, torch.tanh(z) * 2.0\n",
      {{"w", weight({4, 4})}});
  OptimizedModel result =
      expectSame(module, {Inputs{at::randn({2, 4}), std::int64_t{2}}, Inputs{at::randn({2, 4}), std::int64_t{0}}});
  const std::string text = result.module.get_method("forward").graph()->toString(false);
  EXPECT_EQ(text.find("aten::linear"), std::string::npos) << text;  // its operand has two dimensions either way
  EXPECT_NE(text.find("aten::relu"), std::string::npos) << text;
}

TEST(BranchRegions, WhatGrowsFromRoundToRoundIsLeft) {
  const OptimizedModel result = expectSameBothWays(
      "    y = x\n"
      "    for i in range(x.size(0)):\n        y = torch.cat([y, torch.relu(y[i:]) * self.w])\n"
      "    return y\n");
  EXPECT_EQ(regionsIn(result.module), 0);
}

}  // namespace
}  // namespace ipex_studio
