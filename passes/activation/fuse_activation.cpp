// Fuses the elementwise operation on one tensor that follows a convolution, linear or matmul into it.
//   before  %y = convolution(%x, W, b, …)   %z = hardtanh(%y, 0, 6)
//   after   %z = ipex_studio::convolution(%x, W, b, [], "convolution{…}|clip(0,6)")
// All activations of core/graph/unary_post_op.cpp, chains of them, and arithmetic with a number.
// Declines: producer-has-other-uses, value-is-graph-output, control-flow, weights-not-constant, unsupported-attribute,
// unsupported-dtype. Needs no alias check: the new node reads where the old producer read.
// Runs after batch-norm is folded, and before fuse-residual-add, so that a sum of activations finds fused producers.
// Numerics: a kernel computes the activation in float32 on the accumulator; approximations differ by a few ulp.
#include "core/graph/rewrite_matches.h"
#include "passes/match/post_op_fusion.h"
#include "passes/pass_list.h"

namespace ipex_studio {

namespace {

bool fuseActivation(torch::jit::Graph& graph, PassContext& context) {
  const auto wanted = [](c10::Symbol kind, bool on_one_value) { return on_one_value && mayBeElementwise(kind); };
  return rewriteMatches(context, context.nodesBehind(&mayBeFusedOp, wanted), &matchUnary, &appendPostOps);
}

}  // namespace

const Pass kFuseActivation = {
    "fuse-activation", "Fuses activations and arithmetic with a number into the operation before.", &fuseActivation};

}  // namespace ipex_studio
