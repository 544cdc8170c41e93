// Answers questions about modes that only training and mixed precision at run time switch on.
//   before  %g = aten::is_grad_enabled()   %a = aten::is_autocast_enabled()   %y = prim::If(%a) …
//   after   %g = false   %a = false   %y = prim::If(false) …                   which fold-constants decides
// Scripted modules of PyTorch choose their fast paths by these. An optimized model computes no gradients, and in the
// precision it was optimized for; one that asks for gradients inside of forward is left alone. Declines: nothing with a
// remark. Runs before fold-constants. Numerics: none.
#include "core/graph/differentiated.h"
#include "core/graph/rewrite_matches.h"
#include "passes/pass_list.h"

namespace ipex_studio {
namespace {

using torch::jit::Node;

bool matchMode(PassContext&, const Node* node, Decline*) { return node->outputs().size() == 1; }

void rewriteMode(Rewriter& rewriter, Node* node) {
  rewriter.replace({node}, node->output(), rewriter.constant(false, node), "off where nobody trains");
}

bool foldInferenceMode(torch::jit::Graph& graph, PassContext& context) {
  if (asksForGradients(graph)) return false;
  return rewriteMatches(context, context.nodes(kFoldInferenceMode.needs), matchMode, rewriteMode);
}

}  // namespace

const Pass kFoldInferenceMode = {
    "fold-inference-mode",
    "Answers questions about modes that only training switches on.",
    &foldInferenceMode,
    {"aten::is_autocast_cpu_enabled", "aten::is_autocast_enabled", "aten::is_grad_enabled"}};

}  // namespace ipex_studio
