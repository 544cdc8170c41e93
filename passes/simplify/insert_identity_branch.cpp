// Gives calls in which two arguments are one tensor, and those in which they are not, a graph each.
//   before  graph(%q, %kv):  %same = aten::__is__(%q, %kv)   %y = prim::If(%same) …   return (%y)
//   after   %one = aten::__is__(%q, %kv)   %y = prim::If(%one)
//             block0():  %same = aten::__is__(%q, %q)   …        which fold-tensor-facts answers
//             block1():  %same = false   …
// Scripted attention asks whether its queries are its keys again and again, and every answer splits a region. Of more
// than two arguments, or where the example shows that they are two, only the calls with different ones get a form
// without questions.
// Declines: nothing with a remark (a large graph). Runs before whatever answers questions. Numerics: none.
#include <algorithm>
#include <utility>
#include <vector>

#include "core/graph/node_facts.h"
#include "core/graph/pass.h"
#include "core/pipeline/pipeline.h"
#include "passes/pass_list.h"
#include "passes/simplify/whole_branch.h"

namespace ipex_studio {
namespace {

using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;
using Pair = std::pair<Value*, Value*>;

constexpr int kMaxGraphNodes = 4000;

// The two arguments that the node asks about, the earlier one first; nullptr: none.
Pair askedAbout(const Node* node, const Graph& graph) {
  Value *a = node->input(0), *b = node->input(1);
  const auto isArgument = [&](const Value* value) {
    return value->node() == graph.param_node() && value->type()->kind() == c10::TypeKind::TensorType;
  };
  if (a == b || !isArgument(a) || !isArgument(b)) return {};
  return a->offset() < b->offset() ? Pair{a, b} : Pair{b, a};
}

// True if nothing seen in the example run tells the two arguments apart.
bool mayBeOne(const Pair& pair) {
  const auto sizes = knownSizes(pair.first);
  return sizes && sizes == knownSizes(pair.second) && knownDtype(pair.first) == knownDtype(pair.second);
}

bool insertIdentityBranch(Graph& graph, PassContext& context) {
  Rewriter& rewriter = context.rewriter;
  const bool split = isWholeBranch(graph);
  std::vector<std::pair<Node*, Pair>> questions;
  std::vector<Pair> pairs, decided;
  const auto contains = [](const std::vector<Pair>& some, const Pair& pair) {
    return std::find(some.begin(), some.end(), pair) != some.end();
  };
  for (Node* node : context.nodes(kInsertIdentityBranch.needs)) {
    const Pair pair = askedAbout(node, graph);
    if (pair.first == nullptr || contains(decided, pair)) continue;
    if (split && node->owningBlock() == graph.block()) {
      decided.push_back(pair);
      continue;
    }
    questions.emplace_back(node, pair);
    if (!contains(pairs, pair)) pairs.push_back(pair);
  }
  if (pairs.empty() || countNodes(graph) > kMaxGraphNodes || !rewriter.permit()) return false;
  Node* const first = *graph.nodes().begin();
  Value* condition = nullptr;
  for (const auto& [a, b] : pairs) {
    Value* one = rewriter.create("aten::__is__", {a, b}, first)->output()->setType(c10::BoolType::get());
    condition = condition == nullptr
                    ? one
                    : rewriter.create("aten::__or__", {condition, one}, first)->output()->setType(c10::BoolType::get());
  }
  std::vector<Value*> known, as;
  for (const Pair& pair : pairs) {
    known.push_back(pair.second);
    as.push_back(pairs.size() == 1 && mayBeOne(pair) ? pair.first : pair.second);
  }
  rewriter.branch(condition, known, as, "a graph for calls with different tensors");
  for (const auto& [node, pair] : questions) {
    if (!rewriter.permit()) break;
    rewriter.replace({node}, node->output(), rewriter.constant(isKind(node, "aten::__isnot__"), node),
                     "not one tensor here");
  }
  return true;
}

}  // namespace

const Pass kInsertIdentityBranch = {"insert-identity-branch",
                                    "Gives calls in which two arguments are one tensor a graph of their own.",
                                    &insertIdentityBranch,
                                    {"aten::__is__", "aten::__isnot__"}};

}  // namespace ipex_studio
