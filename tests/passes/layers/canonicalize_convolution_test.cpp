// Counts the constants that canonicalize-convolution adds, which the text of a graph does not show.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include <torch/csrc/jit/ir/irparser.h>

#include "core/graph/graph_index.h"
#include "core/graph/pass.h"
#include "passes/pass_list.h"

namespace ipex_studio {
namespace {

using torch::jit::Graph;
using torch::jit::Node;

TEST(CanonicalizeConvolution, AddsOneConstantForAllConvolutionsOfABlock) {
  auto graph = std::make_shared<Graph>();
  torch::jit::parseIR(
      R"(graph(%x : Float(1, 3, 8, 8), %line : Float(1, 3, 8), %w : Float(3, 3, 1, 1), %v : Float(3, 3, 1), %c : bool):
  %none : NoneType = prim::Constant()
  %g : int = prim::Constant[value=1]()
  %ones : int[] = prim::Constant[value=[1, 1]]()
  %zeros : int[] = prim::Constant[value=[0, 0]]()
  %one : int[] = prim::Constant[value=[1]]()
  %zero : int[] = prim::Constant[value=[0]]()
  %b : Tensor = prim::If(%c)
    block0():
      %d : Float(1, 3, 8, 8) = aten::conv2d(%x, %w, %none, %ones, %zeros, %ones, %g)
      -> (%d)
    block1():
      -> (%x)
  %e : Float(1, 3, 8, 8) = aten::conv2d(%x, %w, %none, %ones, %zeros, %ones, %g)
  %f : Float(1, 3, 8) = aten::conv1d(%line, %v, %none, %one, %zero, %one, %g)
  %h : Float(1, 3, 8, 8) = aten::conv2d(%e, %w, %none, %ones, %zeros, %ones, %g)
  return (%b, %f, %h)
)",
      graph.get());
  OriginTable origins;
  origins.assign(*graph);
  Rewriter rewriter(*graph, origins, -1);
  rewriter.beginPass();
  const OptimizeOptions options;
  const GraphIndex graph_index(*graph);
  const ConstantAttributes attributes;
  PassContext context(*graph, rewriter, options, graph_index, attributes);
  ASSERT_TRUE(kCanonicalizeConvolution.run(*graph, context));
  graph->lint();  // a constant stands before all that read it

  std::vector<Node*> made;
  for (Node* node : allNodes(*graph)) {
    if (node->kind() == c10::aten::convolution) made.push_back(node);
  }
  ASSERT_EQ(made.size(), 4U);  // in the branch, %e, %f, %h
  constexpr int kTransposed = 6, kOutputPadding = 7;
  EXPECT_EQ(made[1]->input(kTransposed), made[2]->input(kTransposed));
  EXPECT_EQ(made[1]->input(kTransposed), made[3]->input(kTransposed));
  EXPECT_EQ(made[1]->input(kOutputPadding), made[3]->input(kOutputPadding));
  EXPECT_NE(made[1]->input(kOutputPadding), made[2]->input(kOutputPadding));  // of another length
  EXPECT_NE(made[0]->input(kTransposed), made[1]->input(kTransposed));        // a branch keeps its own
}

}  // namespace
}  // namespace ipex_studio
