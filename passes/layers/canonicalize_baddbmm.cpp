// Writes the product with a sum of attention's slow path as a product and a sum.
//   before  %s = aten::baddbmm(%mask, %q, %k, 1, 1)
//   after   %p = aten::bmm(%q, %k)   %s = aten::add(%p, %mask, 1)
// Then the sum is a mask for fuse-softmax and fuse-attention. Declines: nothing with a remark (other factors, unknown
// sizes): a plan computes the whole as it is. Runs before fuse-matmul-transpose. Numerics: the sum is rounded once
// more.
#include "core/graph/rewrite_matches.h"
#include "passes/match/node_writer.h"
#include "passes/pass_list.h"

namespace ipex_studio {
namespace {

using torch::jit::Node;
using torch::jit::Value;

bool matchBaddbmm(PassContext&, Node* node, Decline*) {
  if (node->inputs().size() != 5) return false;
  const auto sizes = knownSizes(node->output()), left = knownSizes(node->input(1)), right = knownSizes(node->input(2));
  const bool plain = constantNumber(node->input(3)) == 1.0 && constantNumber(node->input(4)) == 1.0;
  return plain && sizes && sizes->size() == 3 && left && right && knownDtype(node->output());
}

void rewriteBaddbmm(Rewriter& rewriter, Node* node) {
  const auto sizes = knownSizes(node->output());
  NodeWriter write(rewriter, node, knownDtype(node->output()));
  Value* product = write.make("aten::bmm", {node->input(1), node->input(2)}, *sizes);
  Value* sum = write.make("aten::add", {product, node->input(0), write.number(1)}, *sizes);
  rewriter.replace({node}, node->output(), sum, "written out as product and sum");
}

bool canonicalizeBaddbmm(torch::jit::Graph& graph, PassContext& context) {
  return rewriteMatches(context, context.nodes(kCanonicalizeBaddbmm.needs), matchBaddbmm, rewriteBaddbmm);
}

}  // namespace

const Pass kCanonicalizeBaddbmm = {"canonicalize-baddbmm",
                                   "Writes products with a sum as a product and a sum.",
                                   &canonicalizeBaddbmm,
                                   {"aten::baddbmm"}};

}  // namespace ipex_studio
