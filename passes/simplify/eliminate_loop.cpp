// Writes out loops whose few rounds are counted by a constant.
//   before  %y = prim::Loop(2, true, %x)
//             block0(%i, %a):  %b = aten::mul(%a, %i)  -> (true, %b)
//   after   %b = aten::mul(%x, 0)   %y = aten::mul(%b, 1)
// Scripted normalizations check their sizes in such loops, and small networks run their layers in them: a region cannot
// reach across. Declines: nothing with a remark (a loop that may end early, or that would make the graph much larger).
// Runs in fold-constants, which finds out the number of rounds. Numerics: none.
#include <algorithm>
#include <optional>

#include "core/graph/node_facts.h"
#include "core/graph/rewrite_matches.h"
#include "passes/pass_list.h"

namespace ipex_studio {
namespace {

using torch::jit::Node;

constexpr std::int64_t kMaxRounds = 64, kMaxUnrolledNodes = 1024;

// Number of nodes in the block and in the blocks nested in it.
std::int64_t nodesIn(const torch::jit::Block* block) {
  std::int64_t count = 0;
  for (const Node* node : block->nodes()) {
    ++count;
    for (const torch::jit::Block* inner : node->blocks()) count += nodesIn(inner);
  }
  return count;
}

std::optional<std::int64_t> matchRounds(PassContext&, const Node* loop, Decline*) {
  const auto rounds = constantInt(loop->input(0));
  const torch::jit::Block* body = loop->blocks()[0];
  if (!rounds || constantBool(loop->input(1)) != true || constantBool(body->outputs()[0]) != true) return std::nullopt;
  if (*rounds > kMaxRounds || *rounds * nodesIn(body) > kMaxUnrolledNodes) return std::nullopt;
  return std::max<std::int64_t>(*rounds, 0);
}

void rewriteRounds(Rewriter& rewriter, Node* loop, std::int64_t rounds) {
  rewriter.unroll(loop, rounds, "written out round by round");
}

bool eliminateLoop(torch::jit::Graph& graph, PassContext& context) {
  return rewriteMatches(context, context.nodes(kEliminateLoop.needs), matchRounds, rewriteRounds);
}

}  // namespace

const Pass kEliminateLoop = {
    "eliminate-loop", "Writes out loops whose few rounds are counted by a constant.", &eliminateLoop, {"prim::Loop"}};

}  // namespace ipex_studio
