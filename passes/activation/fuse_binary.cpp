// Fuses the product, difference, quotient, maximum or minimum with another tensor into the operation before.
//   before  %y = linear(%x, W, b)   %z = mul(%y, %g)
//   after   %z = ipex_studio::linear(%x, W, b, [%g], "linear{}|mul(0)")
// A gate that is smaller than what it scales (squeeze-and-excitation) is no post-op of the gate's own convolution.
// Declines: as fuse-residual-add.
// Runs after fuse-activation and before fuse-residual-add, so that a gated branch can still take the sum behind it.
// Numerics: one rounding less; no reassociation.
#include "passes/match/post_op_fusion.h"
#include "passes/pass_list.h"

namespace ipex_studio {
namespace {

bool fuseBinary(torch::jit::Graph& graph, PassContext& context) {
  return fuseBinaryNodes(graph, context,
                         {"aten::mul", "aten::sub", "aten::rsub", "aten::div", "aten::max", "aten::maximum",
                          "aten::min", "aten::minimum"});
}

}  // namespace

const Pass kFuseBinary = {"fuse-binary", "Fuses products and the like with another tensor into the operation before.",
                          &fuseBinary};

}  // namespace ipex_studio
