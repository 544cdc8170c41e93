// The set of node addresses against the standard library's, and the nodes of a graph by kind.
#include "core/graph/node_set.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <unordered_set>
#include <vector>

#include "core/graph/graph_index.h"

namespace ipex_studio {
namespace {

using torch::jit::Graph;
using torch::jit::Node;

// Made-up node addresses, 16 bytes apart and all over the memory; they are never dereferenced.
const Node* addressOf(int number) {
  const auto area = static_cast<std::uintptr_t>(number / 3) << 19,
             in_area = static_cast<std::uintptr_t>(number % 3) * 16;
  return reinterpret_cast<const Node*>(0x10000 + area + in_area);
}

TEST(NodeSet, HoldsWhatTheStandardSetHolds) {
  constexpr int kAddresses = 300;
  std::mt19937 random(7);
  NodeSet set;
  std::unordered_set<const Node*> expected;
  for (int step = 0; step < 20000; ++step) {
    const Node* node = addressOf(static_cast<int>(random() % kAddresses));
    if (random() % 2 == 0) {
      set.insert(node);
      expected.insert(node);
    } else {
      set.erase(node);
      expected.erase(node);
    }
    ASSERT_EQ(set.size(), expected.size()) << step;
    if (step % 100 != 0) continue;
    for (int number = 0; number < kAddresses; ++number) {
      ASSERT_EQ(set.contains(addressOf(number)), expected.count(addressOf(number)) != 0) << step << ' ' << number;
    }
  }
  set.clear();
  EXPECT_EQ(set.size(), 0U);
  EXPECT_FALSE(set.contains(addressOf(1)));
}

TEST(GraphIndex, FindsNodesByKindInOrderInBlocksToo) {
  auto graph = std::make_shared<Graph>();
  torch::jit::parseIR(R"(graph(%x : Float(2), %c : bool):
  %a : Float(2) = aten::relu(%x)
  %b : Tensor = prim::If(%c)
    block0():
      %d : Tensor = aten::relu(%a)
      -> (%d)
    block1():
      %e : Tensor = aten::tanh(%a)
      -> (%e)
  %f : Tensor = aten::relu(%b)
  return (%f)
)",
                      graph.get());
  const GraphIndex graph_index(*graph);
  EXPECT_EQ(graph_index.nodes(), 5);
  EXPECT_TRUE(graph_index.hasAny({"aten::exp", "aten::tanh"}));
  EXPECT_FALSE(graph_index.hasAny({"aten::exp"}));
  std::vector<Node*> expected;
  for (Node* node : allNodes(*graph)) {
    if (node->kind() == c10::aten::relu) expected.push_back(node);
  }
  std::vector<Node*> found;
  for (Node* node : graph_index.nodesOf([](c10::Symbol kind) { return kind == c10::aten::relu; }))
    found.push_back(node);
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found, expected);
  EXPECT_NE(found[1]->owningBlock(), graph->block());
  EXPECT_EQ(graph_index.hash(), graphHash(*graph));
}

TEST(GraphIndex, FindsNodesByTheirNumberOfOperands) {
  auto graph = std::make_shared<Graph>();
  torch::jit::parseIR(R"(graph(%x : Float(2), %one : int):
  %a : Float(2) = aten::add(%x, %x, %one)
  %b : Float(2) = aten::relu(%a)
  %c : Float(2) = aten::add(%b, %x, %one, %a)
  return (%c)
)",
                      graph.get());
  std::vector<Node*> found;
  for (Node* node : GraphIndex(*graph).nodesOfForm(
           [](c10::Symbol kind, std::size_t operands) { return kind == c10::aten::add && operands == 4; })) {
    found.push_back(node);
  }
  EXPECT_EQ(found, std::vector<Node*>{graph->outputs()[0]->node()});
}

TEST(GraphIndex, FindsNodesBehindOthers) {
  auto graph = std::make_shared<Graph>();
  torch::jit::parseIR(R"(graph(%x : Float(2), %m : Float(2, 2), %c : bool):
  %one : int = prim::Constant[value=1]()
  %y : Float(2) = aten::matmul(%m, %x)
  %a : Float(2) = aten::add(%y, %one, %one)
  %b : Float(2) = aten::relu(%a)
  %d : Float(2) = aten::add(%x, %b, %one)
  %e : Float(2) = aten::relu(%d)
  %f : Float(2) = aten::relu(%x)
  %g : Float(2) = aten::exp(%y)
  %h : Float(2) = aten::relu(%g)
  %i : Tensor = prim::If(%c)
    block0():
      %j : Float(2) = aten::relu(%b)
      -> (%j)
    block1():
      -> (%x)
  %k : Float(2) = aten::relu(%i)
  return (%e, %f, %h, %k)
)",
                      graph.get());
  const auto isProduct = [](c10::Symbol kind) { return kind == c10::aten::matmul; };
  const auto isPart = [](c10::Symbol kind) { return kind == c10::aten::relu || kind == c10::aten::add; };
  std::vector<Node*> nodes;
  for (Node* node : allNodes(*graph)) nodes.push_back(node);
  const auto indicesOf = [&](const NodeWalk& found) {
    std::vector<std::ptrdiff_t> indices;
    for (Node* node : found) indices.push_back(std::find(nodes.begin(), nodes.end(), node) - nodes.begin());
    return indices;
  };
  const GraphIndex graph_index(*graph);
  const NodeWalk any = graph_index.nodesBehind(isProduct, [&](c10::Symbol kind, bool) { return isPart(kind); });
  EXPECT_EQ(indicesOf(any), (std::vector<std::ptrdiff_t>{1, 2, 3, 4, 9}));  // %a, %b, %d, %e, %j
  const NodeWalk on_one = graph_index.nodesBehind(
      isProduct, [&](c10::Symbol kind, bool on_one_value) { return on_one_value && isPart(kind); });
  EXPECT_EQ(indicesOf(on_one), (std::vector<std::ptrdiff_t>{1, 2, 9}));  // %d reads two values
}

TEST(GraphIndex, FindsWhatDependsOnConstantsOnly) {
  auto graph = std::make_shared<Graph>();
  torch::jit::parseIR(R"(graph(%x : Float(2), %c : bool):
  %one : int = prim::Constant[value=1]()
  %two : int = aten::add(%one, %one)
  %list : int[] = prim::ListConstruct(%two, %one)
  %rank : int = aten::dim(%x)
  %mixed : int = aten::add(%two, %rank)
  %chosen : int = prim::If(%c)
    block0():
      %three : int = aten::add(%two, %one)
      -> (%three)
    block1():
      -> (%one)
  %after : int = aten::add(%chosen, %one)
  return (%list, %mixed, %after)
)",
                      graph.get());
  std::vector<Node*> found;
  for (Node* node : GraphIndex(*graph).nodesOfConstants([](c10::Symbol) { return true; })) found.push_back(node);
  ASSERT_EQ(found.size(), 3U);  // %two, %list, %three
  EXPECT_EQ(found[0]->kind(), c10::aten::add);
  EXPECT_EQ(found[1], graph->outputs()[0]->node());
  EXPECT_EQ(found[2]->input(0), found[0]->output());
  EXPECT_NE(found[2]->owningBlock(), graph->block());
}

}  // namespace
}  // namespace ipex_studio
