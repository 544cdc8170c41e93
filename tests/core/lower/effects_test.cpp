// Nodes that only the interpreter can run are one step each: all around them is planned, and their effects keep their
// order.
#include <gtest/gtest.h>
#include <torch/csrc/jit/runtime/print_handler.h>

#include <sstream>

#include "core/model/measure.h"
#include "core/torch/torch_error.h"
#include "tests/core/graph/script_classes.h"

namespace ipex_studio {
namespace {

using namespace testing;  // NOLINT: the fixture's names

// What models print, warn and raise, in order.
std::vector<std::string>& effects() {
  static std::vector<std::string> texts;
  return texts;
}

class NoteWarnings : public c10::WarningHandler {
 public:
#if TORCH_VERSION_MAJOR < 2
  void process(const c10::SourceLocation&, const std::string& text, bool) override { effects().push_back(text); }
#else
  void process(const c10::Warning& warning) override { effects().push_back(warning.msg()); }
#endif
};

#if TORCH_VERSION_MAJOR < 2
using WarningGuard = c10::Warning::WarningHandlerGuard;
#else
using WarningGuard = c10::WarningUtils::WarningHandlerGuard;
#endif

std::vector<std::string> effectsOf(Module& module, const Inputs& inputs) {
  const torch::jit::PrintHandler printed = torch::jit::getPrintHandler();
  torch::jit::setPrintHandler([](const std::string& text) { effects().push_back("print " + text); });
  NoteWarnings handler;
  const WarningGuard guard(&handler);
  effects().clear();
  try {
    call(module, inputs);
  } catch (const std::exception& problem) {
    effects().push_back("raise " + shortMessage(problem));
  }
  torch::jit::setPrintHandler(printed);
  return effects();
}

OptimizedModel expectSameEffects(const Module& module, const std::vector<Inputs>& inputs) {
  OptimizedModel result = expectSame(module, {inputs[0]});
  for (const Inputs& given : inputs) {
    Module original = module.deepcopy();
    const auto expected = effectsOf(original, given);
    EXPECT_FALSE(expected.empty());
    EXPECT_EQ(effectsOf(result.module, given), expected)
        << result.module.get_method("forward").graph()->toString(false);
  }
  return result;
}

TEST(Effects, WarningsAndChecksKeepTheirOrder) {
  const Module module = scriptModule(
      "def forward(self, x):\n"
      "    y = torch.relu(torch.linear(x, self.w))\n"
      "    if bool(y.sum() > 1e9):\n        torch.warn('large', 2)\n"
      "    torch.warn('first', 2)\n"
      "    assert bool(torch.tanh(y).sum() > -1e9), 'never'\n"
      "    z = torch.sigmoid(y) * 2.0\n"
      "    if bool(z.sum() > 0):\n        torch.warn('second', 2)\n"
      "    torch.warn('third', 2)\n"
      "    assert x.size(0) != 3, 'three rows'\n"
      "    torch.warn('fourth', 2)\n"
      "    return torch.exp(z)\n",
      {{"w", weight({4, 4})}});
  const OptimizedModel result = expectSameEffects(module, {{at::randn({2, 4})}, {at::randn({3, 4})}});
  EXPECT_GE(regionsIn(result.module), 1);
}

TEST(Effects, PrintsKeepTheirOrderWithChecks) {
  const Module module = scriptModule(
      "def forward(self, x):\n"
      "    print('before')\n"
      "    y = torch.relu(torch.linear(x, self.w))\n"
      "    if bool(torch.tanh(y).sum() > -1):\n        torch.warn('sum', 2)\n"
      "    print('between', x.size(0))\n"
      "    assert x.size(0) != 3, 'three rows'\n"
      "    z = torch.sigmoid(y) * 2.0\n"
      "    print('behind')\n"
      "    return torch.exp(z)\n",
      {{"w", weight({4, 4})}});
  expectSameEffects(module, {{at::randn({2, 4})}, {at::randn({3, 4})}});
}

TEST(Effects, AllAroundAWarningIsOneRegion) {
  const Module module = scriptModule(
      "def forward(self, x):\n"
      "    y = torch.relu(torch.linear(x, self.w))\n"
      "    torch.warn('Scripted module always returns a tuple', 2)\n"
      "    return torch.exp(torch.sigmoid(y) * 2.0)\n",
      {{"w", weight({4, 4})}});
  const OptimizedModel result = expectSameEffects(module, {{at::randn({2, 4})}});
  EXPECT_EQ(regionsIn(result.module), 1);
  EXPECT_GE(result.coverage.nodes, 0.5);  // the warning is one node of two
}

TEST(Effects, NoGradIsOneStepAtEitherEnd) {
  const Module module = classModule(
      "    w = self.w\n"
      "    a = torch.relu(torch.linear(x, w))\n"
      "    _0 = __torch__.no_grad.__new__(__torch__.no_grad)\n"
      "    _1 = (_0).__init__()\n"
      "    with _0:\n"
      "      b = torch.sigmoid(torch.linear(a, w))\n"
      "    return torch.exp(torch.linear(b, w))\n",
      weight({4, 4}), kNoGradClass);
  OptimizedModel result = expectSame(module, {{at::randn({2, 4})}, {at::randn({3, 4})}});
  EXPECT_GE(regionsIn(result.module), 1);
  ASSERT_TRUE(at::GradMode::is_enabled());
  const at::Tensor y = result.module.forward({at::randn({2, 4})}).toTensor();
  EXPECT_TRUE(at::GradMode::is_enabled()) << "a run leaves the mode as it was";
  EXPECT_FALSE(y.requires_grad());
  RunRecord run;
  profileSteps(result.module, {at::randn({2, 4})}, 2, result.origins, run);
  EXPECT_TRUE(at::GradMode::is_enabled());
  EXPECT_FALSE(run.steps.empty());
  std::stringstream file;
  exportModule(result, file, ExportForm::kCompiled);
  Module loaded = torch::jit::load(file);
  EXPECT_EQ(difference(module, loaded, {at::randn({2, 4})}), "");
  std::stringstream portable;
  exportModule(result, portable, ExportForm::kPortable);
  loaded = torch::jit::load(portable);
  EXPECT_EQ(difference(module, loaded, {at::randn({2, 4})}), "");
}

TEST(Effects, ObjectsOfClassesAreStepsOfTheInterpreter) {
  const Module module = classModule(
      "    w = self.w\n"
      "    b = __torch__.Boxes.__new__(__torch__.Boxes)\n"
      "    _2 = (b).__init__(torch.relu(torch.linear(x, w)), [torch.size(x, 0), torch.size(x, 1)], )\n"
      "    n = b.n\n"
      "    return torch.add(torch.sigmoid((b).scale(2., )), n[0])\n",
      weight({4, 4}), R"(
class Boxes:
  t : Tensor
  n : List[int]
  def __init__(self: __torch__.Boxes, t: Tensor, n: List[int]) -> NoneType:
    self.t = t
    self.n = n
    return None
  def scale(self: __torch__.Boxes, k: float) -> Tensor:
    t = self.t
    return torch.mul(t, k)
)");
  const OptimizedModel result = expectSame(module, {{at::randn({2, 4})}, {at::randn({3, 4})}});
  EXPECT_GE(regionsIn(result.module), 1);
}

// Gradients inside of forward: forces of an energy, as in models of molecules.
TEST(Effects, WhatIsDifferentiatedStaysAndTheRestIsPlanned) {
  const Module module = scriptModule(
      "def forward(self, x):\n"
      "    h = torch.sigmoid(torch.linear(torch.relu(torch.linear(x, self.a)) * 2.0, self.a))\n"
      "    x = (h + 1.0).requires_grad_(True)\n"
      "    e = torch.linear(torch.tanh(torch.linear(x, self.a)), self.b).relu().sum()\n"
      "    ones: List[Optional[Tensor]] = [torch.ones_like(e)]\n"
      "    f = torch.autograd.grad([e], [x], ones)[0]\n"
      "    assert f is not None\n"
      "    return e, torch.relu(torch.linear(-f, self.a)) * 2.0 + h\n",
      {{"a", weight({6, 6})}, {"b", weight({1, 6})}});
  const auto results = [](Module& of, const Inputs& inputs) {
    const IValue result = of.forward(inputs);
    return copyValue(result);
  };
  OptimizedModel result = optimized(module, {at::randn({2, 6})});
  // What is not differentiated is fused, what is stays as libtorch knows it.
  const std::string graph = result.rewritten.get_method("forward").graph()->toString(false);
  EXPECT_NE(graph.find("ipex_studio::linear"), std::string::npos) << graph;
  EXPECT_NE(graph.find("aten::tanh"), std::string::npos) << graph;
  Module original = module.deepcopy();
  for (const std::int64_t rows : {2, 5}) {
    const at::Tensor x = at::randn({rows, 6});
    EXPECT_EQ(difference(results(result.module, {x.clone()}), results(original, {x.clone()})), "");
    EXPECT_EQ(difference(results(result.rewritten, {x.clone()}), results(original, {x.clone()})), "");
  }
  const std::vector<AccuracyRecord> verified = verifyModule(module, result.module, {{at::randn({3, 6})}}, "");
  EXPECT_TRUE(verified[0].pass) << verified[0].text;
  RunRecord run;
  profileSteps(result.module, {at::randn({2, 6})}, 2, result.origins, run);
  EXPECT_FALSE(timeForward(result.module, {at::randn({2, 6})}, 0, 3).empty());
}

TEST(Effects, ForksArePlannedWithTheRest) {
  const std::string body =
      "    w = self.w\n"
      "    f = fork(__torch__.twice, x, w)\n"
      "    y = torch.relu(torch.linear(x, w))\n"
      "    return torch.exp(torch.sigmoid(torch.add(torch.wait(f), y)))\n";
  const OptimizedModel result = expectSame(classModule(body, weight({4, 4}),
                                                       "def twice(x: Tensor, w: Tensor) -> Tensor:\n"
                                                       "  f = fork(__torch__.once, x, w)\n"
                                                       "  return torch.mul(torch.wait(f), 2)\n"
                                                       "def once(x: Tensor, w: Tensor) -> Tensor:\n"
                                                       "  return torch.tanh(torch.linear(x, w))\n"),
                                           {{at::randn({2, 4})}, {at::randn({3, 4})}});
  EXPECT_EQ(regionsIn(result.module), 1);
  EXPECT_EQ(result.coverage.nodes, 1);
  // One that raises has to raise where it is waited for, so it stays a fork.
  const OptimizedModel raises =
      expectSame(classModule(body, weight({4, 4}),
                             "def twice(x: Tensor, w: Tensor) -> Tensor:\n"
                             "  if torch.gt(torch.size(x, 0), 5):\n"
                             "    ops.prim.RaiseException(\"many rows\", \"builtins.ValueError\")\n"
                             "  return torch.mul(x, 2)\n"),
                 {{at::randn({2, 4})}, {at::randn({3, 4})}});
  EXPECT_NE(raises.rewritten.get_method("forward").graph()->toString(false).find("prim::fork"), std::string::npos);
}

TEST(Effects, ForksKeptInListsArePlannedWithTheRest) {
  const std::string body =
      "    w = self.w\n"
      "    futures = annotate(List[Future[Tensor]], [])\n"
      "    for i in range(3):\n"
      "      f = fork(__torch__.once, torch.mul(x, i), w)\n"
      "      _0 = torch.append(futures, f)\n"
      "    y = torch.relu(torch.linear(x, w))\n"
      "    for j in range(torch.len(futures)):\n"
      "      y = torch.add(y, torch.wait(futures[j]))\n"
      "    return torch.exp(torch.sigmoid(y))\n";
  const std::string once =
      "def once(x: Tensor, w: Tensor) -> Tensor:\n"
      "  return torch.tanh(torch.linear(x, w))\n";
  const OptimizedModel result =
      expectSame(classModule(body, weight({4, 4}), once), {{at::randn({2, 4})}, {at::randn({3, 4})}});
  EXPECT_GE(result.coverage.nodes, 0.7);  // the list of what was awaited is read by the interpreter
  EXPECT_EQ(result.rewritten.get_method("forward").graph()->toString(false).find("prim::fork"), std::string::npos);
}

// The schema of instance_norm does not say that it writes into its statistics.
TEST(Effects, RunningStatisticsOfInstanceNormAreUpdated) {
  const Module module = scriptModule(R"(
def forward(self, x, mean, variance):
    y = torch.instance_norm(torch.relu(x), self.w, self.b, mean, variance, True, 0.1, 1e-5, False)
    return torch.sigmoid(y)
)",
                                     {{"w", weight({3})}, {"b", weight({3})}});
  const Inputs inputs{at::randn({2, 3, 4, 4}), at::randn({3}), at::rand({3})};
  OptimizedModel result = optimized(module, inputs);
  Module original = module.deepcopy();
  Inputs ours{inputs[0], inputs[1].toTensor().clone(), inputs[2].toTensor().clone()};
  Inputs right{inputs[0], inputs[1].toTensor().clone(), inputs[2].toTensor().clone()};
  for (int turn = 0; turn < 2; ++turn) {
    EXPECT_EQ(difference(call(result.module, ours), call(original, right)), "");
    EXPECT_TRUE(at::allclose(ours[1].toTensor(), right[1].toTensor()));
    EXPECT_TRUE(at::allclose(ours[2].toTensor(), right[2].toTensor()));
  }
  EXPECT_FALSE(at::allclose(ours[1].toTensor(), inputs[1].toTensor()));
}

// Operators write to `mean` and `variance` although their schemas do not say so: what reads these before and after
// stays on its side of the write, and the write happens once a call.
void expectWritesKeepTheirPlace(const std::string& write, const std::string& source) {
  const Module module = scriptModule(source, {{"w", weight({3})}, {"b", weight({3})}});
  const Inputs inputs{at::randn({8, 3, 4}), at::randn({3}), at::rand({3}) + 0.5};
  const auto copied = [&] {
    Inputs copies;
    for (const IValue& input : inputs) copies.push_back(input.toTensor().clone());
    return copies;
  };
  OptimizedModel result = optimized(module, copied());
  for (Module* ours_module : {&result.module, &result.rewritten}) {
    Module original = module.deepcopy();
    Inputs ours = copied(), right = copied();
    for (int turn = 0; turn < 2; ++turn) {
      EXPECT_EQ(difference(call(*ours_module, ours), call(original, right)), "")
          << write << " " << ours_module->get_method("forward").graph()->toString(false);
      for (const std::size_t written : {1, 2})
        EXPECT_TRUE(at::allclose(ours[written].toTensor(), right[written].toTensor())) << write;
    }
    EXPECT_FALSE(at::allclose(ours[1].toTensor(), inputs[1].toTensor())) << write;
  }
}

TEST(Effects, SilentWritesKeepTheirPlace) {
  const std::vector<std::string> writes = {
      "y = torch.batch_norm(x, self.w, self.b, mean, variance, True, 0.1, 1e-5, False)",
      "y = torch.instance_norm(x, self.w, self.b, mean, variance, True, 0.1, 1e-5, False)",
      "y, _0, _1 = torch.native_batch_norm(x, self.w, self.b, mean, variance, True, 0.1, 1e-5)",
      "y, _0, _1, _2, _3 = torch._batch_norm_impl_index(x, self.w, self.b, mean, variance, True, 0.1, 1e-5, False)",
      "_0, _1 = torch.batch_norm_update_stats(x, mean, variance, 0.1)\n    y = x * _0.sum()"};
  for (const std::string& write : writes) {
    expectWritesKeepTheirPlace(write,
                               "def forward(self, x, mean, variance):\n"
                               "    x = torch.relu(x)\n"
                               "    before = torch.sigmoid(mean * 2.0) + variance\n"
                               "    " +
                                   write +
                                   "\n"
                                   "    after = torch.sigmoid(mean * 2.0) + variance\n"
                                   "    return torch.tanh(y) * 2.0, before, after\n");
  }
}

// native_batch_norm is left out: libtorch's own executor merges what reads its statistics in one round and the next.
TEST(Effects, SilentWritesReachTheStatisticsOfLaterRounds) {
  expectWritesKeepTheirPlace(
      "in a loop",
      "def forward(self, x, mean, variance):\n"
      "    total = torch.zeros_like(mean)\n"
      "    for i in range(3):\n"
      "        total = total + torch.sigmoid(mean * 2.0) * variance\n"
      "        x = torch.instance_norm(torch.relu(x), self.w, self.b, mean, variance, True, 0.1, 1e-5, False)\n"
      "    return torch.tanh(x) * 2.0, total\n");
}

// Two equal nodes write twice.
TEST(Effects, SilentWritesAreNotMergedOrFolded) {
  expectWritesKeepTheirPlace(
      "twice",
      "def forward(self, x, mean, variance):\n"
      "    y, _0, _1 = torch.native_batch_norm(x, self.w, self.b, mean, variance, True, 0.1, 1e-5)\n"
      "    z, _2, _3 = torch.native_batch_norm(x, self.w, self.b, mean, variance, True, 0.1, 1e-5)\n"
      "    return torch.tanh(y + z) * 2.0, torch.sigmoid(mean * 2.0)\n");
}

// Statistics that forward makes: written although no view of them is.
TEST(Effects, SilentWritesReachFreshMemory) {
  expectWritesKeepTheirPlace("fresh",
                             "def forward(self, x, mean, variance):\n"
                             "    m = torch.relu(mean)\n"
                             "    v = variance + 1.0\n"
                             "    before = torch.sigmoid(m * 2.0)\n"
                             "    y = torch.instance_norm(x, self.w, self.b, m, v, True, 0.1, 1e-5, False)\n"
                             "    mean += 1.0\n"
                             "    return torch.tanh(y) * 2.0, before, torch.sigmoid(m * 2.0) * v\n");
}

TEST(Effects, WeightsOfEmbeddingsAreRenormalizedInPlace) {
  expectWritesKeepTheirPlace("renorm",
                             "def forward(self, x, mean, variance):\n"
                             "    table = mean.view([3, 1])\n"
                             "    before = torch.sigmoid(mean * 2.0)\n"
                             "    rows = torch._no_grad_embedding_renorm_(table, torch.tensor([0, 1, 2]), 0.01, 2.0)\n"
                             "    y = torch.tanh(rows.sum() * x)\n"
                             "    return y * 2.0, before, torch.sigmoid(mean * 2.0)\n");
}

}  // namespace
}  // namespace ipex_studio
