// Operators that a target lacks are written out in those that it has, with the same numbers; others are named.
#include "core/export/fit_target.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/ir/irparser.h>
#include <torch/csrc/jit/passes/dead_code_elimination.h>
#include <torch/csrc/jit/runtime/interpreter.h>

namespace ipex_studio {
namespace {

using torch::jit::Graph;

std::shared_ptr<Graph> parsedGraph(const std::string& text) {
  auto graph = std::make_shared<Graph>();
  torch::jit::parseIR(text, graph.get());
  return graph;
}

at::Tensor resultOf(const std::shared_ptr<Graph>& graph, const std::vector<at::Tensor>& inputs) {
  const at::NoGradGuard no_gradients;
  torch::jit::Code code(graph, "test");
  torch::jit::Stack stack(inputs.begin(), inputs.end());
  torch::jit::InterpreterState(code).run(stack);
  return stack.back().toTensor();
}

// Fits the graph and returns the kinds that stay outside; the numbers must stay.
std::string outsideAfterFit(const std::string& text, const std::vector<std::string>& only,
                            const std::vector<at::Tensor>& inputs) {
  const auto fitted = parsedGraph(text);
  fitToTarget(*fitted, only);
  torch::jit::EliminateDeadCode(fitted);
  fitted->lint();
  const at::Tensor expected = resultOf(parsedGraph(text), inputs), actual = resultOf(fitted, inputs);
  EXPECT_TRUE(at::allclose(actual, expected, 1e-5, 1e-6, true)) << fitted->toString(false);
  EXPECT_EQ(actual.scalar_type(), expected.scalar_type());
  std::string kinds;
  for (const torch::jit::Node* node : nodesOutside(*fitted, only))
    kinds += std::string(node->kind().toQualString()) + " ";
  return kinds;
}

std::string unary(const std::string& kind, const std::string& constants = "", const std::string& operands = "") {
  return fmt::format("graph(%x : Tensor):\n{}  %y : Tensor = {}(%x{})\n  return (%y)\n", constants, kind, operands);
}

const std::vector<std::string> kArithmetic = {
    "aten::add",  "aten::sub",   "aten::mul",   "aten::div",   "aten::exp",       "aten::clamp",
    "aten::tanh", "aten::erf",   "aten::log1p", "aten::log",   "aten::sum",       "aten::amax",
    "aten::mean", "aten::rsqrt", "aten::gt",    "aten::where", "aten::reciprocal"};

TEST(FitTarget, Activations) {
  const at::Tensor x = at::randn({4, 9}) * 4;
  for (const char* kind : {"aten::silu", "aten::mish", "aten::hardswish", "aten::hardsigmoid", "aten::relu6",
                           "aten::relu", "aten::sigmoid", "aten::neg"}) {
    EXPECT_EQ(outsideAfterFit(unary(kind), kArithmetic, {x}), "") << kind;
  }
  for (const char* how : {"none", "tanh"}) {
    const std::string constant = fmt::format("  %h : str = prim::Constant[value=\"{}\"]()\n", how);
    EXPECT_EQ(outsideAfterFit(unary("aten::gelu", constant, ", %h"), kArithmetic, {x}), "") << how;
  }
  EXPECT_EQ(outsideAfterFit(unary("aten::leaky_relu", "  %s : float = prim::Constant[value=0.1]()\n", ", %s"),
                            kArithmetic, {x}),
            "");
}

TEST(FitTarget, NormalizationsAndSoftmax) {
  const at::Tensor x = at::randn({3, 7});
  const std::string axis = "  %a : int = prim::Constant[value=-1]()\n  %n : NoneType = prim::Constant()\n";
  EXPECT_EQ(outsideAfterFit(unary("aten::softmax", axis, ", %a, %n"), kArithmetic, {x}), "");
  EXPECT_EQ(outsideAfterFit(unary("aten::log_softmax", axis, ", %a, %n"), kArithmetic, {x}), "");
  const std::string norm =
      "graph(%x : Tensor, %w : Tensor, %b : Tensor):\n  %s : int[] = prim::Constant[value=[7]]()\n"
      "  %e : float = prim::Constant[value=1e-5]()\n  %c : bool = prim::Constant[value=0]()\n"
      "  %y : Tensor = aten::layer_norm(%x, %s, %w, %b, %e, %c)\n  return (%y)\n";
  EXPECT_EQ(outsideAfterFit(norm, kArithmetic, {x, at::randn({7}), at::randn({7})}), "");
}

TEST(FitTarget, ConvolutionsByTheirNames) {
  const std::string convolution =
      "graph(%x : Tensor, %w : Tensor):\n  %b : NoneType = prim::Constant()\n  %one : int[] = prim::Constant[value=[1, "
      "2]]()\n"
      "  %zero : int[] = prim::Constant[value=[1, 0]]()\n  %t : bool = prim::Constant[value={}]()\n"
      "  %g : int = prim::Constant[value=1]()\n  %d : int[] = prim::Constant[value=[2, 1]]()\n"
      "  %none : int[] = prim::Constant[value=[0, 0]]()\n"
      "  %y : Tensor = aten::convolution(%x, %w, %b, %one, %zero, %d, %t, %none, %g)\n  return (%y)\n";
  const std::vector<at::Tensor> inputs = {at::randn({2, 3, 8, 9}), at::randn({3, 3, 3, 3})};
  EXPECT_EQ(outsideAfterFit(fmt::format(fmt::runtime(convolution), 0), {"aten::conv2d"}, inputs), "");
  EXPECT_EQ(outsideAfterFit(fmt::format(fmt::runtime(convolution), 1), {"aten::conv_transpose2d"}, inputs), "");
  EXPECT_EQ(outsideAfterFit(fmt::format(fmt::runtime(convolution), 0), {"aten::conv3d"}, inputs), "aten::convolution ");
}

// What helps only half way is not begun, so that the node that is named is the model's own.
TEST(FitTarget, LeavesWhatItCannotWrite) {
  const at::Tensor x = at::randn({4, 4});
  EXPECT_EQ(outsideAfterFit(unary("aten::silu"), {"aten::mul"}, {x}), "aten::silu ");
  EXPECT_EQ(outsideAfterFit(unary("aten::silu"), {"aten::mul", "aten::sigmoid"}, {x}), "");
  EXPECT_EQ(outsideAfterFit(unary("aten::cos"), kArithmetic, {x}), "aten::cos ");
  EXPECT_EQ(outsideAfterFit(unary("aten::silu"), {"aten::silu"}, {x}), "");
  // A bound that is a tensor is another form of the operator.
  const std::string bound =
      "graph(%x : Tensor, %m : Tensor):\n  %y : Tensor = aten::clamp_min(%x, %m)\n  return (%y)\n";
  EXPECT_EQ(outsideAfterFit(bound, {"aten::clamp"}, {x, at::zeros({4})}), "aten::clamp_min ");
}

}  // namespace
}  // namespace ipex_studio
