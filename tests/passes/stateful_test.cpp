// Models with state give the same sequence from the same state, whatever is rewritten between reading and writing it.
#include <gtest/gtest.h>

#include "tests/core/graph/script_models.h"

namespace ipex_studio {
namespace {

using namespace testing;  // NOLINT: the fixture's names

// A small voice detector: convolutions, then a recurrent cell that keeps its state between calls.
Module recurrent() {
  return scriptModule(R"(
def reset(self):
    self.h = torch.zeros([1, 8])
    self.c = torch.zeros([1, 8])

def forward(self, x):
    y = torch.relu(torch.conv1d(x, self.w, self.b, [2], [1], [1], 1))
    y = y.mean([2])
    gates = torch.linear(y, self.wx, self.bx) + torch.linear(self.h, self.wh, self.bh)
    i, f, g, o = torch.chunk(gates, 4, 1)
    c = torch.sigmoid(f) * self.c + torch.sigmoid(i) * torch.tanh(g)
    h = torch.sigmoid(o) * torch.tanh(c)
    self.h = h
    self.c = c
    return torch.sigmoid(torch.linear(torch.relu(h), self.wo, self.bo))
)",
                      {{"w", weight({8, 1, 3})},
                       {"b", weight({8})},
                       {"wx", weight({32, 8})},
                       {"bx", weight({32})},
                       {"wh", weight({32, 8})},
                       {"bh", weight({32})},
                       {"wo", weight({1, 8})},
                       {"bo", weight({1})}},
                      {{"h", at::zeros({1, 8})}, {"c", at::zeros({1, 8})}});
}

std::vector<Inputs> sequence(int steps) {
  std::vector<Inputs> inputs;
  for (int s = 0; s < steps; ++s) inputs.push_back({at::randn({1, 1, 32})});
  return inputs;
}

TEST(Stateful, SequenceFromEqualState) {
  const Module module = recurrent();
  OptimizeOptions options;
  options.preserved_methods = {"reset"};
  const std::vector<Inputs> steps = sequence(5);
  OptimizedModel result = optimized(module, steps[0], options);
  EXPECT_GE(regionsIn(result.module), 1);
  for (Module* candidate : {&result.module, &result.rewritten}) {
    for (const AccuracyRecord& record : verifyModule(module, *candidate, steps, "reset"))
      EXPECT_TRUE(record.pass) << record.text;
  }
}

TEST(Stateful, OptimizingAdvancesNoState) {
  Module module = recurrent();
  const std::vector<Inputs> steps = sequence(3);
  OptimizedModel result = optimized(module, steps[0]);
  for (const Inputs& inputs : steps) EXPECT_EQ(difference(call(result.module, inputs), call(module, inputs)), "");
}

TEST(Stateful, WithoutResetTheSequencesDiffer) {
  const Module module = recurrent();
  const std::vector<Inputs> steps = sequence(3);
  OptimizedModel result = optimized(module, steps[0]);
  call(result.module, steps[2]);  // another state from here on
  bool pass = true;
  for (const AccuracyRecord& record : verifyModule(module, result.module, steps, "")) pass = pass && record.pass;
  EXPECT_FALSE(pass);
}

// State written in place: the original, the optimized and the rewritten module each have their own.
TEST(Stateful, WritesInPlaceStayApart) {
  Module module = scriptModule(R"(
def forward(self, x):
    self.seen.add_(1)
    y = torch.relu(torch.linear(x, self.w)) * self.seen
    self.total += y.sum()
    return y + self.total
)",
                               {{"w", weight({4, 4})}}, {{"seen", at::zeros({1})}, {"total", at::zeros({1})}});
  const at::Tensor x = at::randn({2, 4});
  OptimizedModel result = optimized(module, {x});
  EXPECT_EQ(module.attr("seen").toTensor().item<float>(), 0);
  Module eager = module.deepcopy();
  std::vector<IValue> expected;
  for (int i = 0; i < 3; ++i) expected.push_back(call(eager, {x}).deepcopy());
  for (int i = 0; i < 3; ++i) EXPECT_EQ(difference(call(result.module, {x}), expected[i]), "") << i;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(difference(call(result.rewritten, {x}), expected[i]), "") << i;
  EXPECT_EQ(module.attr("seen").toTensor().item<float>(), 0);
}

TEST(Stateful, ReadsBeforeAndAfterTheWrite) {
  const Module module = scriptModule(R"(
def forward(self, x):
    before = torch.relu(self.h) + x
    self.h = torch.tanh(before) * 2
    after = torch.relu(self.h) + x
    if bool(x.sum() > 0):
        self.h = after
    return before, after, self.h
)",
                                     {}, {{"h", at::randn({3})}});
  for (const int sign : {1, -1}) {
    OptimizedModel result = optimized(module, {at::rand({3}) * sign});
    std::vector<Inputs> steps;
    for (int s = 0; s < 4; ++s) steps.push_back({at::randn({3})});
    for (const AccuracyRecord& record : verifyModule(module, result.module, steps, ""))
      EXPECT_TRUE(record.pass) << record.text;
  }
}

// A step of a decoder that keeps keys and values in buffers: only the writes themselves stay with the interpreter.
TEST(Stateful, ReadersOfWrittenBuffersArePlanned) {
  const Module module = scriptModule(R"(
def forward(self, x, at: int):
    self.k[:, at:at + 1] = torch.linear(x, self.wk)
    self.v[:, at:at + 1] = torch.linear(x, self.wv)
    k = self.k[:, :at + 1]
    v = self.v[:, :at + 1]
    a = torch.softmax(torch.matmul(torch.linear(x, self.wq), k.transpose(1, 2)) / 4.0, -1)
    y = torch.linear(torch.matmul(a, v), self.wo)
    return torch.linear(torch.relu(torch.linear(y, self.wf)), self.wo)
)",
                                     {{"wk", weight({16, 16})},
                                      {"wv", weight({16, 16})},
                                      {"wq", weight({16, 16})},
                                      {"wo", weight({16, 16})},
                                      {"wf", weight({16, 16})}},
                                     {{"k", at::zeros({1, 8, 16})}, {"v", at::zeros({1, 8, 16})}});
  OptimizedModel result = optimized(module, {at::randn({1, 1, 16}), 3});
  EXPECT_GE(result.coverage.nodes, 0.45);
  Module eager = module.deepcopy();
  for (std::int64_t step = 0; step < 6; ++step) {
    const Inputs inputs{at::randn({1, 1, 16}), step};
    EXPECT_EQ(difference(call(result.module, inputs), call(eager, inputs)), "") << step;
  }
}

// A filter that reads its state before it writes it: what it read is no later value.
TEST(Stateful, ReadersBeforeAWriteStayBeforeIt) {
  const Module module = scriptModule(R"(
def forward(self, x):
    y = torch.linear(x, self.w) + torch.relu(self.s) * 0.5
    self.s.copy_(torch.tanh(y))
    z = torch.linear(torch.relu(self.s), self.w)
    self.s.mul_(2.0)
    return y + z, torch.relu(self.s)
)",
                                     {{"w", weight({6, 6})}}, {{"s", at::randn({2, 6})}});
  OptimizedModel result = optimized(module, {at::randn({2, 6})});
  EXPECT_GE(result.coverage.nodes, 0.5);
  Module eager = module.deepcopy();
  for (int step = 0; step < 4; ++step) {
    const Inputs inputs{at::randn({2, 6})};
    EXPECT_EQ(difference(call(result.module, inputs), call(eager, inputs)), "") << step;
  }
}

// libtorch's alias analysis does not follow a name from one round of a loop into the next.
TEST(Stateful, WhatALoopHandsToItsNextRoundIsWritten) {
  const Module module = scriptModule(R"(
def forward(self, x, n: int):
    base = torch.relu(x)
    h = x * 2.0
    for i in range(n):
        h.add_(1.0)
        h = base.clone()
    return h, base
)");
  OptimizedModel result = optimized(module, {at::randn({2, 6}), 2});
  for (std::int64_t rounds = 0; rounds < 4; ++rounds)
    EXPECT_EQ(difference(module, result.module, {at::randn({2, 6}), rounds}), "") << rounds;
}

}  // namespace
}  // namespace ipex_studio
