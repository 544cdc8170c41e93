// Fuses the sum of a convolution, linear or matmul with another tensor into it, and the activation behind the sum.
//   before  %y = convolution(%x, W, b, …)   %s = add(%y, %r, 1)   %z = relu(%s)
//   after   %z = ipex_studio::convolution(%x, W, b, [%r], "convolution{…}|add(0)|relu")
// Where both sides could take the sum, the later one does: the other is computed by then. Chains of sums fuse one by
// one. Declines: producer-has-other-uses, value-is-graph-output, control-flow, weights-not-constant, unknown-shape,
// mixed-dtype, operand-broadcasts-result, value-may-be-aliased-or-written.
// Runs after fuse-activation; takes the activation behind the sum itself, since that pass has run by then.
// Numerics: one rounding less; no reassociation.
#include "passes/match/post_op_fusion.h"
#include "passes/pass_list.h"

namespace ipex_studio {
namespace {

bool fuseResidualAdd(torch::jit::Graph& graph, PassContext& context) {
  return fuseBinaryNodes(graph, context, {"aten::add"});
}

}  // namespace

const Pass kFuseResidualAdd = {"fuse-residual-add",
                               "Fuses residual sums and the activation behind them into the operation before.",
                               &fuseResidualAdd};

}  // namespace ipex_studio
