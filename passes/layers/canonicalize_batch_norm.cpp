// Gives every inference batch normalization one form: aten::batch_norm with training=false.
//   before  %y, %m, %i = native_batch_norm(%x, %g, %b, %mean, %var, %training=False, %momentum, %eps)
//   after   %y = batch_norm(%x, %g, %b, %mean, %var, False, %momentum, %eps, False)
// Also _batch_norm_impl_index, cudnn_batch_norm, and instance_norm that uses its running statistics.
// Declines: training-mode (or statistics of the input itself), producer-has-other-uses (the saved statistics are used),
// operand-not-constant (the mode).
// Runs before fold-batch-norm. Numerics: none changed.
#include "core/graph/fused_op.h"
#include "core/graph/rewrite_matches.h"
#include "passes/pass_list.h"

namespace ipex_studio {

using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;

namespace {

// All kinds share the places of x, weight, bias, running mean, running variance, training, momentum, eps.
constexpr std::size_t kTraining = 5;
constexpr std::size_t kSharedInputs = 8;

bool isBatchNorm(const Node* node) {
  const std::string kind = node->kind().toQualString();
  return (kind == "aten::batch_norm" || kind == "aten::native_batch_norm" || kind == "aten::_batch_norm_impl_index" ||
          kind == "aten::cudnn_batch_norm" || kind == "aten::instance_norm") &&
         node->inputs().size() >= kSharedInputs;
}

Decline declineNormalization(const Node* node) {
  const auto training = constantBool(node->input(kTraining));
  if (!training) return {reasons::kNotConstant, "The mode of this normalization is not known before the model runs."};
  if (*training || isNone(node->input(3)) || isNone(node->input(4))) {
    return {reasons::kTrainingMode, "The normalization uses the statistics of its own input."};
  }
  for (std::size_t i = 1; i < node->outputs().size(); ++i) {
    if (node->output(i)->hasUses()) return {reasons::kOtherUses, "The saved statistics are used."};
  }
  return {};
}

bool matchNormalization(PassContext&, Node* node, Decline* why) {
  if (!isBatchNorm(node)) return false;
  *why = declineNormalization(node);
  return node->kind() != torch::jit::aten::batch_norm;  // which has the form already
}

void rewriteNormalization(Rewriter& rewriter, Node* node) {
  std::vector<Value*> inputs(node->inputs().begin(), node->inputs().begin() + kSharedInputs);
  inputs[kTraining] = rewriter.constant(false, node);
  inputs.push_back(rewriter.constant(false, node));
  Node* plain = rewriter.create("aten::batch_norm", inputs, node);
  plain->output()->setType(node->output(0)->type());
  rewriter.replace({node}, node->output(0), plain->output(), "one form of batch normalization");
}

bool canonicalizeBatchNorm(Graph& graph, PassContext& context) {
  return rewriteMatches(context, context.nodes(kCanonicalizeBatchNorm.needs), matchNormalization, rewriteNormalization);
}

}  // namespace

const Pass kCanonicalizeBatchNorm = {"canonicalize-batch-norm",
                                     "Gives every inference batch normalization one form.",
                                     &canonicalizeBatchNorm,
                                     {"aten::batch_norm", "aten::native_batch_norm", "aten::_batch_norm_impl_index",
                                      "aten::cudnn_batch_norm", "aten::instance_norm"}};

}  // namespace ipex_studio
