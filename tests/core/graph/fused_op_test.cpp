// Reading and writing of operations with post-ops, and of elementwise nodes as post-ops.
#include "core/graph/fused_op.h"

#include <gtest/gtest.h>

#include "core/graph/elementwise.h"

namespace ipex_studio {
namespace {

using torch::jit::Graph;
using torch::jit::Node;

std::shared_ptr<Graph> parsed(const std::string& text) {
  auto graph = std::make_shared<Graph>();
  torch::jit::parseIR(text, graph.get());
  return graph;
}

Node* last(Graph& graph) { return graph.outputs()[0]->node(); }

// The post-ops of `call` on side `data_index`, as text behind "pointwise{}"; "none" if it is no elementwise operation.
std::string postOps(const std::string& call, std::size_t data_index = 0) {
  const auto graph = parsed(
      "graph(%x : Float(2, 3), %y : Float(2, 3), %n : int):\n  %none : NoneType = prim::Constant()\n"
      "  %one : int = prim::Constant[value=1]()\n  %two : float = prim::Constant[value=2.]()\n"
      "  %word : str = prim::Constant[value=\"tanh\"]()\n  %z : Float(2, 3) = " +
      call + "\n  return (%z)\n");
  const auto elementwise = readElementwise(last(*graph), data_index);
  if (!elementwise) return "none";
  OpSpec spec;
  spec.post_ops = elementwise->post_ops;
  return spec.text().substr(std::string("pointwise{}").size());
}

TEST(ReadElementwise, Unary) {
  EXPECT_EQ(postOps("aten::relu(%x)"), "|relu");
  EXPECT_EQ(postOps("aten::clamp(%x, %none, %two)"), "|clip(-inf,2.0)");
  EXPECT_EQ(postOps("aten::hardtanh(%x, %one, %two)"), "|clip(1.0,2.0)");
  EXPECT_EQ(postOps("aten::gelu(%x, %word)"), "|gelu_tanh");
  EXPECT_EQ(postOps("aten::elu(%x, %two, %one, %one)"), "|elu(2.0)");
  EXPECT_EQ(postOps("aten::pow(%x, %two)"), "|square");
  EXPECT_EQ(postOps("aten::softplus(%x, %one, %two)"), "|softplus(1.0,2.0)");
}

TEST(ReadElementwise, NumbersOnEitherSide) {
  EXPECT_EQ(postOps("aten::mul(%x, %two)"), "|linear(2.0,0.0)");
  EXPECT_EQ(postOps("aten::div(%x, %two)"), "|linear(0.5,0.0)");
  EXPECT_EQ(postOps("aten::add(%x, %two, %two)"), "|linear(1.0,4.0)");
  EXPECT_EQ(postOps("aten::sub(%x, %two, %two)"), "|linear(1.0,-4.0)");
  EXPECT_EQ(postOps("aten::rsub(%x, %one, %two)"), "|linear(-2.0,1.0)");
  EXPECT_EQ(postOps("aten::sub(%two, %x, %one)", 1), "|linear(-1.0,2.0)");
}

TEST(ReadElementwise, TwoTensorsOnEitherSide) {
  EXPECT_EQ(postOps("aten::add(%x, %y, %two)"), "|add(0,2.0)");
  EXPECT_EQ(postOps("aten::add(%x, %y, %two)", 1), "|linear(2.0,0.0)|add(0)");
  EXPECT_EQ(postOps("aten::sub(%x, %y, %one)"), "|sub(0)");
  EXPECT_EQ(postOps("aten::sub(%x, %y, %two)", 1), "|linear(2.0,0.0)|rsub(0)");
  EXPECT_EQ(postOps("aten::rsub(%x, %y, %two)"), "|linear(2.0,0.0)|rsub(0)");
  EXPECT_EQ(postOps("aten::rsub(%x, %y, %two)", 1), "|sub(0,2.0)");
  EXPECT_EQ(postOps("aten::div(%x, %y)", 1), "|rdiv(0)");
  EXPECT_EQ(postOps("aten::max(%x, %y)"), "|max(0)");
}

TEST(ReadElementwise, Refuses) {
  EXPECT_EQ(postOps("aten::add(%x, %y, %n)"), "none");
  EXPECT_EQ(postOps("aten::mul(%x, %n)"), "none");
  EXPECT_EQ(postOps("aten::div(%x, %y, %word)"), "none");
  EXPECT_EQ(postOps("aten::elu(%x, %two, %two, %one)"), "none");
  EXPECT_EQ(postOps("aten::softmax(%x, %one, %none)"), "none");
}

TEST(ReadFusedOp, ReadsWhatWriteWrote) {
  const auto graph = parsed("graph(%x : Float(2, 3), %y : Float(2, 3), %w : Float(3, 3)):\n  return (%x)\n");
  OriginTable origins;
  origins.assign(*graph);
  Rewriter rewriter(*graph, origins, -1);
  ASSERT_TRUE(rewriter.permit());
  FusedOp op;
  op.spec = parseOpSpec("linear{}|add(0)|relu");
  op.base = {graph->inputs()[0], graph->inputs()[2], rewriter.none(graph->return_node())};
  op.post_args = {graph->inputs()[1]};
  const auto read = readFusedOp(writeFusedOp(rewriter, op, graph->return_node()));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->spec, op.spec);
  EXPECT_EQ(read->base, op.base);
  EXPECT_EQ(read->post_args, op.post_args);
}

TEST(ReadFusedOp, SaysWhyNot) {
  const auto graph = parsed(
      "graph(%x : Tensor, %w : Float(4, 3, 1, 1), %n : int):\n  %none : NoneType = prim::Constant()\n"
      "  %no : bool = prim::Constant[value=0]()\n  %one : int = prim::Constant[value=1]()\n"
      "  %l : int[] = prim::ListConstruct(%one)\n  %m : int[] = prim::ListConstruct(%n)\n"
      "  %y : Tensor = aten::convolution(%x, %w, %none, %m, %l, %l, %no, %l, %one)\n  return (%y)\n");
  std::string why;
  EXPECT_FALSE(readFusedOp(last(*graph), &why));
  EXPECT_EQ(why, "stride is not constant");
}

TEST(BroadcastsTo, ComparesFromTheRight) {
  EXPECT_TRUE(broadcastsTo({}, {2, 3}));
  EXPECT_TRUE(broadcastsTo({3}, {2, 3}));
  EXPECT_TRUE(broadcastsTo({2, 1}, {2, 3}));
  EXPECT_FALSE(broadcastsTo({2}, {2, 3}));
  EXPECT_FALSE(broadcastsTo({2, 3}, {1, 3}));
  EXPECT_FALSE(broadcastsTo({1, 2, 3}, {2, 3}));
}

}  // namespace
}  // namespace ipex_studio
