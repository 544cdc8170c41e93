// Loops whose body is one region become one node, with the numbers of the loop at any sizes and numbers of rounds.
#include <gtest/gtest.h>

#include <sstream>

#include "core/model/measure.h"
#include "tests/core/graph/script_models.h"

namespace ipex_studio {
namespace {

using namespace testing;  // NOLINT: the fixture's names

int loopsIn(const Module& module, const char* kind) {
  int count = 0;
  for (const torch::jit::Node* node : allNodes(*module.get_method("forward").graph()))
    count += std::string(node->kind().toQualString()) == kind ? 1 : 0;
  return count;
}

const char kLoop[] = "ipex_studio::region_loop";

struct Loop {
  const char* name;
  const char* text;  // of x [batch, rounds, 16]
};
void PrintTo(const Loop& loop, std::ostream* out) { *out << loop.text; }

class RegionLoops : public ::testing::TestWithParam<Loop> {};

TEST_P(RegionLoops, GiveTheSameNumbers) {
  at::manual_seed(5);
  const Module module = scriptModule("def forward(self, x):\n" + std::string(GetParam().text),
                                     {{"w", weight({16, 16})}, {"u", weight({16, 16})}});
  OptimizedModel result = expectSame(module, {{at::randn({2, 9, 16})},
                                              {at::randn({2, 9, 16})},
                                              {at::randn({1, 4, 16})},
                                              {at::randn({3, 1, 16})},
                                              {at::randn({2, 2, 16})},
                                              {at::randn({9, 3, 16}).transpose(0, 1).contiguous().transpose(0, 1)},
                                              {at::randn({2, 40, 16})}});
  EXPECT_EQ(loopsIn(result.module, kLoop), 1) << result.module.get_method("forward").graph()->toString(false);
  EXPECT_EQ(loopsIn(result.module, "prim::Loop"), 0);
  std::stringstream file;
  exportModule(result, file, ExportForm::kCompiled);
  Module loaded = torch::jit::load(file);
  for (const std::int64_t rounds : {9, 9, 5, 9}) {
    EXPECT_EQ(difference(module, loaded, {at::randn({2, rounds, 16})}), "") << rounds << " rounds";
  }
}

#define ROUNDS "    h = torch.zeros([x.size(0), 16])\n    for t in range(x.size(1)):\n"
#define STATE "torch.tanh(torch.linear(x[:, t], self.w) + torch.linear(h, self.u))\n"

const Loop kLoops[] = {
    {"last_state", ROUNDS "        h = " STATE "    return h\n"},
    {"stacked", "    l = []\n" ROUNDS "        h = " STATE "        l.append(h)\n    return torch.stack(l, 1)\n"},
    {"stacked_first_and_last",
     "    l = []\n" ROUNDS "        h = " STATE
     "        l.append(torch.sigmoid(h))\n    return torch.stack(l), torch.stack(l, -1), h\n"},
    {"joined",
     "    l = []\n" ROUNDS "        h = " STATE "        l.append(h)\n    return torch.cat(l, 1), torch.cat(l)\n"},
    {"states_before",
     "    l = []\n" ROUNDS "        l.append(h)\n        h = " STATE "    return torch.stack(l, 1), h\n"},
    {"written", "    y = torch.zeros_like(x)\n" ROUNDS "        h = " STATE "        y[:, t] = h\n    return y\n"},
    {"written_last_axis", "    y = torch.empty([x.size(0), 16, x.size(1)])\n" ROUNDS "        h = " STATE
                          "        y[:, :, t] = h\n    return y * 2.0\n"},
    {"written_with_steps", "    y = torch.ones([x.size(0), 2 * x.size(1) + 1, 16])\n" ROUNDS "        h = " STATE
                           "        y[:, t] = h\n    return y.sum(1), y\n"},
    {"every_second",
     "    l = []\n    h = torch.zeros([x.size(0), 16])\n"
     "    for t in range(0, x.size(1), 2):\n        h = " STATE "        l.append(h)\n    return torch.stack(l, 1)\n"},
    {"slices_of_a_list",
     "    l = []\n    h = torch.zeros([x.size(0), 16])\n"
     "    for s in torch.unbind(x, 1):\n        h = torch.relu(torch.linear(s, self.w) + torch.linear(h, self.u))\n"
     "        l.append(h)\n    return torch.stack(l, 1)\n"},
    {"state_without_slices", "    l = []\n    k = torch.ones([x.size(0), 16])\n" ROUNDS
                             "        k = torch.sigmoid(torch.linear(k, self.u)) * 2.0\n"
                             "        h = " STATE "        l.append(h)\n    return torch.stack(l, 1), k\n"},
    {"two_states", "    l = []\n    k = torch.zeros([x.size(0), 16])\n" ROUNDS
                   "        k = torch.sigmoid(torch.linear(k, self.u) + 0.5)\n"
                   "        h = " STATE "        l.append(h * k)\n    return torch.stack(l, 1), k, h\n"},
    {"states_in_lists",
     "    z = torch.zeros([x.size(0), 16])\n    s = [z, z]\n    l = []\n"
     "    for t in range(x.size(1)):\n        s[0] = torch.tanh(torch.linear(x[:, t], self.w) + s[0])\n"
     "        s[1] = torch.tanh(torch.linear(s[0], self.u) + s[1])\n        l.append(s[1])\n"
     "    return torch.stack(l, 1), s[0]\n"},
};

INSTANTIATE_TEST_SUITE_P(Forms, RegionLoops, ::testing::ValuesIn(kLoops),
                         [](const auto& info) { return info.param.name; });

TEST(RegionLoop, WithoutRoundsDoesWhatTheLoopDoes) {
  Module written =
      scriptModule("def forward(self, x):\n    y = torch.ones_like(x)\n    z = torch.zeros([x.size(0), 3, 16])\n" ROUNDS
                   "        h = torch.tanh(h + x[:, t])\n        y[:, t] = h\n    return y, h\n");
  OptimizedModel result = expectSame(written, {{at::randn({2, 4, 16})}, {at::randn({2, 0, 16})}});
  EXPECT_EQ(loopsIn(result.module, kLoop), 1);
  Module stacked =
      scriptModule("def forward(self, x):\n    l = []\n" ROUNDS
                   "        h = torch.tanh(h + x[:, t])\n        l.append(h)\n    return torch.stack(l, 1)\n");
  result = optimized(stacked, {at::randn({2, 4, 16})});
  EXPECT_EQ(loopsIn(result.module, kLoop), 1);
  EXPECT_ANY_THROW(call(stacked, {at::randn({2, 0, 16})}));
  EXPECT_ANY_THROW(call(result.module, {at::randn({2, 0, 16})}));
}

// The first round may widen what the loop carries.
TEST(RegionLoop, CarriesSizesThatSettleLater) {
  const Module module = scriptModule(
      "def forward(self, x, h):\n    l = []\n    for t in range(x.size(1)):\n"
      "        h = torch.tanh(h + x[:, t]) * 2.0\n        l.append(h)\n    return torch.stack(l, 1), h\n");
  expectSame(module, {{at::randn({1, 5, 16}), at::randn({1, 16})}, {at::randn({3, 5, 16}), at::randn({1, 16})}});
}

// A place outside of what is written to is an error of the model, not of memory.
TEST(RegionLoop, PlacesOutsideAreRefused) {
  const Module module = scriptModule(
      "def forward(self, x, y):\n    z = torch.zeros_like(y)\n    h = torch.zeros([x.size(0), 16])\n"
      "    for t in range(x.size(1)):\n        h = torch.tanh(h + x[:, t]) * 2.0\n        z[:, t] = h\n    return z\n");
  OptimizedModel result = expectSame(module, {{at::randn({2, 5, 16}), at::randn({2, 7, 16})}});
  EXPECT_EQ(loopsIn(result.module, kLoop), 1);
  EXPECT_ANY_THROW(call(result.module, {at::randn({2, 5, 16}), at::randn({2, 4, 16})}));
}

// What reads the tensor in the loop, or a view of it from before, sees each round.
TEST(RegionLoop, OtherReadersKeepTheLoop) {
  const Module reads = scriptModule(
      "def forward(self, x):\n    y = torch.zeros_like(x)\n    for t in range(x.size(1) - 1):\n"
      "        y[:, t + 1] = torch.tanh(y[:, t] + x[:, t]) * 2.0\n    return y\n");
  EXPECT_EQ(loopsIn(expectSame(reads, {{at::randn({2, 5, 16})}, {at::randn({3, 7, 16})}}).module, kLoop), 0);
  const Module view = scriptModule(
      "def forward(self, x):\n    y = torch.zeros_like(x)\n    v = y[:, 1:]\n    for t in range(x.size(1)):\n"
      "        y[:, t] = torch.tanh(x[:, t]) * 2.0\n    return v.sum(), y\n");
  EXPECT_EQ(loopsIn(expectSame(view, {{at::randn({2, 5, 16})}, {at::randn({3, 7, 16})}}).module, kLoop), 0);
  const Module list = scriptModule(
      "def forward(self, x):\n    l = []\n    for t in range(x.size(1)):\n"
      "        l.append(torch.tanh(x[:, t]) * 2.0)\n    return l\n");
  EXPECT_EQ(loopsIn(expectSame(list, {{at::randn({2, 5, 16})}, {at::randn({3, 7, 16})}}).module, kLoop), 0);
}

TEST(RegionLoop, LoopsInLoops) {
  const Module module = scriptModule(
      "def forward(self, x):\n    above = torch.zeros([x.size(0), x.size(2), 16])\n"
      "    rows = []\n    for i in range(x.size(1)):\n"
      "        left = torch.zeros([x.size(0), 16])\n        row = []\n"
      "        for j in range(x.size(2)):\n"
      "            left = torch.tanh(torch.linear(x[:, i, j], self.w) + left + above[:, j])\n"
      "            row.append(left)\n        above = torch.stack(row, 1)\n        rows.append(above)\n"
      "    return torch.stack(rows, 1)\n",
      {{"w", weight({16, 16})}});
  const OptimizedModel result =
      expectSame(module, {{at::randn({2, 3, 4, 16})}, {at::randn({1, 5, 3, 16})}, {at::randn({2, 1, 1, 16})}});
  EXPECT_EQ(loopsIn(result.module, kLoop), 1) << result.module.get_method("forward").graph()->toString(false);
}

TEST(RegionLoop, CountsAsPlannedAndShowsItsSteps) {
  const Module module = scriptModule("def forward(self, x):\n    l = []\n" ROUNDS "        h = " STATE
                                     "        l.append(h)\n    return torch.stack(l, 1)\n",
                                     {{"w", weight({16, 16})}, {"u", weight({16, 16})}});
  const Inputs inputs{at::randn({2, 12, 16})};
  OptimizedModel result = optimized(module, inputs);
  EXPECT_GT(result.coverage.nodes, 0.8);
  RunRecord run;
  profileSteps(result.module, inputs, 5, result.origins, run);
  ASSERT_FALSE(run.steps.empty());
  for (const StepRecord& step : run.steps) EXPECT_EQ(step.runs, 12) << step.name;
  EXPECT_LE(run.coverage.time, 1.0);
  EXPECT_GT(run.coverage.time, 0.3);
}

}  // namespace
}  // namespace ipex_studio
