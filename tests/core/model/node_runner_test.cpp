// Every kind that libtorch's interpreter has an instruction for runs node by node as it does in a whole run.
#include "core/model/node_runner.h"

#include <gtest/gtest.h>
#include <torch/csrc/jit/passes/inliner.h>

#include <set>

#include "core/torch/interpreted_node.h"
#include "tests/core/graph/script_classes.h"

namespace ipex_studio {
namespace {

using namespace testing;  // NOLINT: the fixture's names

std::set<std::string> kindsIn(const torch::jit::Graph& graph) {
  std::set<std::string> kinds;
  for (const torch::jit::Node* node : allNodes(const_cast<torch::jit::Graph&>(graph), true))
    kinds.insert(node->kind().toQualString());
  return kinds;
}

// Runs the method's graph node by node and compares; the graph must have `kind`.
void expectSameNodeByNode(Module module, const std::string& kind, const Inputs& inputs, bool inlined = true) {
  const torch::NoGradGuard no_grad;
  const auto graph = module.get_method("forward").graph()->copy();
  if (inlined) torch::jit::Inline(*graph);
  EXPECT_EQ(kindsIn(*graph).count(kind), 1U) << kind << " is not in\n" << graph->toString(false);
  EXPECT_TRUE(isInterpreterInstruction(c10::Symbol::fromQualString(kind)));
  std::vector<IValue> arguments{module._ivalue()};
  arguments.insert(arguments.end(), inputs.begin(), inputs.end());
  NodeRunner runner(*graph);
  for (int run = 0; run < 2; ++run) {
    const std::vector<IValue> results = runner.run(arguments);
    ASSERT_EQ(results.size(), 1U);
    EXPECT_EQ(difference(results[0], module.forward(inputs)), "") << kind;
  }
}

void expectSameNodeByNode(const std::string& body, const std::string& kind) {
  expectSameNodeByNode(scriptModule("def forward(self, x):\n" + body), kind, {at::randn({2, 4})});
}

TEST(NodeRunner, ControlFlow) {
  expectSameNodeByNode("    if x.size(0) > 1:\n        x = x * 2\n    return x\n", "prim::If");
  expectSameNodeByNode("    for i in range(3):\n        x = x * 2 + i\n    return x\n", "prim::Loop");
  expectSameNodeByNode("    n: int = 0\n    while n < x.size(0):\n        n += 1\n    return x * n\n", "prim::Loop");
  const Module raises = classModule(
      "    if torch.gt(torch.size(x, 0), 5):\n"
      "      ops.prim.RaiseException(\"large\", \"builtins.ValueError\")\n"
      "      y = uninitialized(Tensor)\n"
      "    else:\n"
      "      y = torch.mul(x, 2)\n"
      "    return y\n",
      weight({4}));
  expectSameNodeByNode(raises, "prim::Uninitialized", {at::randn({2, 4})});
}

TEST(NodeRunner, RunsInSteps) {
  const torch::NoGradGuard no_grad;
  Module module = scriptModule("def forward(self, x):\n    y = torch.relu(x)\n    return y + 1\n");
  const auto graph = module.get_method("forward").graph();
  const at::Tensor x = at::randn({2, 4});
  NodeRunner runner(*graph);
  runner.begin({module._ivalue(), x});
  const torch::jit::Node* first = runner.step();
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(first->kind(), c10::aten::relu);
  EXPECT_TRUE(at::equal(runner.valueOf(first->output()).toTensor(), at::relu(x)));
  runner.setValue(first->output(), at::zeros({2, 4}));
  EXPECT_NE(runner.step(), nullptr);
  EXPECT_EQ(runner.step(), nullptr);
  EXPECT_TRUE(at::equal(runner.results().at(0).toTensor(), at::ones({2, 4})));
}

TEST(NodeRunner, Containers) {
  expectSameNodeByNode("    a = [x, x * 2]\n    return a\n", "prim::ListConstruct");
  expectSameNodeByNode("    a, b = x.size()\n    return x * a + b\n", "prim::ListUnpack");
  expectSameNodeByNode("    d = {'a': x, 'b': x * 2}\n    return d['a'] + d['b']\n", "prim::DictConstruct");
  expectSameNodeByNode("    t = (x, x * 2)\n    return t\n", "prim::TupleConstruct");
  expectSameNodeByNode("    t = [(x, x * 2), (x, x * 4)]\n    a, b = t[1]\n    return a + b\n", "prim::TupleUnpack");
}

// The compiler of this libtorch writes indices in its place.
TEST(NodeRunner, TupleSlices) {
  torch::jit::Graph graph;
  torch::jit::parseIR(
      "graph(%a : Tensor, %b : Tensor, %c : Tensor):\n"
      "  %t : (Tensor, Tensor, Tensor) = prim::TupleConstruct(%a, %b, %c)\n"
      "  %s : (Tensor, Tensor) = prim::TupleSlice[beg=1, end=3](%t)\n"
      "  return (%s)\n",
      &graph);
  EXPECT_TRUE(isInterpreterInstruction(c10::Symbol::fromQualString("prim::TupleSlice")));
  const at::Tensor a = at::randn({2}), b = at::randn({3}), c = at::randn({4});
  const IValue slice = NodeRunner(graph).run({a, b, c}).at(0);
  ASSERT_EQ(slice.toTupleRef().elements().size(), 2U);
  EXPECT_TRUE(slice.toTupleRef().elements()[0].toTensor().is_same(b));
  EXPECT_TRUE(slice.toTupleRef().elements()[1].toTensor().is_same(c));
}

TEST(NodeRunner, ForksAndWaits) {
  const Module module = classModule(
      "    f = fork(__torch__.twice, x)\n"
      "    y = torch.mul(x, 3)\n"
      "    return torch.add(torch.wait(f), y)\n",
      weight({4}), "def twice(x: Tensor) -> Tensor:\n  return torch.mul(x, 2)\n");
  for (const char* kind : {"prim::fork", "aten::wait"}) expectSameNodeByNode(module, kind, {at::randn({2, 4})});
}

TEST(NodeRunner, Warnings) { expectSameNodeByNode("    torch.warn('rows', 2)\n    return x * 2\n", "aten::warn"); }

TEST(NodeRunner, ObjectsAndContextManagers) {
  const std::string body =
      "    _0 = __torch__.no_grad.__new__(__torch__.no_grad)\n"
      "    _1 = (_0).__init__()\n"
      "    with _0:\n"
      "      w = self.w\n"
      "      y = torch.mul(x, w)\n"
      "    return y\n";
  for (const char* kind : {"prim::CreateObject", "prim::SetAttr", "prim::GetAttr", "prim::Enter", "prim::Exit"})
    expectSameNodeByNode(classModule(body, weight({4}), kNoGradClass), kind, {at::randn({2, 4})});
  expectSameNodeByNode(classModule(body, weight({4}), kNoGradClass), "prim::CallMethod", {at::randn({2, 4})}, false);
}

TEST(NodeRunner, LeavesContextManagersWhenTheModelRaises) {
  const Module module = classModule(
      "    _0 = __torch__.no_grad.__new__(__torch__.no_grad)\n"
      "    _1 = (_0).__init__()\n"
      "    with _0:\n"
      "      ops.prim.RaiseException(\"no\", \"builtins.ValueError\")\n"
      "    return x\n",
      weight({4}), kNoGradClass);
  const auto graph = module.get_method("forward").graph()->copy();
  torch::jit::Inline(*graph);
  NodeRunner runner(*graph);
  ASSERT_TRUE(at::GradMode::is_enabled());
  EXPECT_ANY_THROW(runner.run({module._ivalue(), at::randn({2, 4})}));
  EXPECT_TRUE(at::GradMode::is_enabled());
}

TEST(NodeRunner, InterfacesAndFunctions) {
  ScriptClasses classes(R"(
class M(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  k : __torch__.Layer
  def forward(self: __torch__.M, x: Tensor) -> Tensor:
    k = self.k
    return torch.relu((k).forward(x, ))
class A(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  def forward(self: __torch__.A, x: Tensor) -> Tensor:
    return torch.mul(__torch__.twice(x, ), 3)
class Layer(ModuleInterface):
  def forward(self, x: Tensor) -> Tensor:
    pass
def twice(x: Tensor) -> Tensor:
  return torch.mul(x, 2)
)");
  const Module inner = classes.module("A", {});
  expectSameNodeByNode(inner, "prim::CallFunction", {at::randn({2, 4})}, false);
  expectSameNodeByNode(classes.module("M", {{"k", inner._ivalue()}}), "prim::CallMethod", {at::randn({2, 4})}, false);
}

// Kinds that no file holds: the profiling executor makes them, and values stand in tables.
TEST(NodeRunner, KindsOfTheExecutorAloneAreKnown) {
  for (const char* kind : {"prim::TypeCheck", "prim::BailOut", "prim::profile", "prim::profile_ivalue", "prim::Guard",
                           "prim::Drop", "prim::awaitable", "prim::Constant", "prim::Param", "prim::Return"})
    EXPECT_TRUE(isInterpreterInstruction(c10::Symbol::fromQualString(kind))) << kind;
  for (const char* kind : {"aten::relu", "aten::format", "prim::Print", "prim::RaiseException", "prim::TupleIndex",
                           "prim::NumToTensor", "prim::dtype", "aten::__is__"})
    EXPECT_FALSE(isInterpreterInstruction(c10::Symbol::fromQualString(kind))) << kind;
}

TEST(NodeRunner, TypesOfValues) {
  const Module module = classModule(
      "    y = annotate(Any, x)\n"
      "    if isinstance(y, Tensor):\n      z = torch.mul(unchecked_cast(Tensor, y), 2)\n"
      "    else:\n      z = x\n"
      "    return z\n",
      weight({4}));
  expectSameNodeByNode(module, "prim::isinstance", {at::randn({2, 4})});
}

}  // namespace
}  // namespace ipex_studio
