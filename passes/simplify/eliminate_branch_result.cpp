// Reads one result of a condition where several are the same in both branches.
//   before  %k, %v = prim::If(%c)
//             block0(): -> (%a, %a)
//             block1(): -> (%b, %b)
//   after   the same, where all that read %v read %k
// So that a scripted module that asks whether keys are values is answered. Declines: nothing with a remark. Runs before
// fold-constants, which runs it again behind every branch it takes. Numerics: none.
#include "core/graph/node_facts.h"
#include "passes/pass_list.h"

namespace ipex_studio {
namespace {

using torch::jit::Node;

// An earlier result that is the same; `result` itself where there is none.
std::size_t firstSameResult(const Node* node, std::size_t result) {
  for (std::size_t earlier = 0; earlier < result; ++earlier) {
    bool same = true;
    for (const torch::jit::Block* block : node->blocks()) same &= block->outputs()[earlier] == block->outputs()[result];
    if (same) return earlier;
  }
  return result;
}

bool eliminateBranchResult(torch::jit::Graph& graph, PassContext& context) {
  bool changed = false;
  for (Node* node : context.nodes(kEliminateBranchResult.needs)) {
    if (!context.rewriter.alive(node)) continue;
    for (std::size_t result = 1; result < node->outputs().size(); ++result) {
      const std::size_t earlier = firstSameResult(node, result);
      if (earlier == result || !node->output(result)->hasUses()) continue;
      if (*node->output(earlier)->type() != *node->output(result)->type()) continue;
      if (!context.rewriter.permit(node)) continue;
      context.rewriter.replaceAll({}, {node->output(result)}, {node->output(earlier)}, "both branches give it twice");
      changed = true;
    }
  }
  return changed;
}

}  // namespace

const Pass kEliminateBranchResult = {"eliminate-branch-result",
                                     "Reads one result of a condition where several are the same.",
                                     &eliminateBranchResult,
                                     {"prim::If"}};

}  // namespace ipex_studio
