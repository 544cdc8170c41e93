// Enlarges what a convolution of single pixels gives instead of what it reads: it then computes fewer pixels.
//   before  %u = upsample_bilinear2d(%x, …)   %y = convolution(%u, W, b, [1, 1], [0, 0], …)   W: [O, C, 1, 1]
//   after   %c = convolution(%x, W, b, [1, 1], [0, 0], …)   %y = upsample_bilinear2d(%c, …)
// The weights of each enlarged pixel sum to 1, so the bias stays what it is. Decoders of segmentation networks are
// written so. Declines: weights-not-constant, unsupported-dtype, unsupported-attribute (windows, strides, padding),
// producer-has-other-uses, control-flow, value-is-graph-output, value-may-be-aliased-or-written, not-profitable (more
// channels than before, or an image that hardly grows). Runs after the folds into weights and before fusions, which
// would put an activation onto the convolution. Numerics: sums in another order.
#include <algorithm>

#include "core/graph/node_facts.h"
#include "core/graph/rewrite_matches.h"
#include "passes/match/weighted_node.h"
#include "passes/pass_list.h"

namespace ipex_studio {

using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;

namespace {

struct UpsampleMatch {
  Node* upsample = nullptr;
  std::vector<std::int64_t> sizes;  // of the convolution's result for the image that is not enlarged
};

bool isUpsample(const Node* node) {
  static const char* const kKinds[] = {"aten::upsample_nearest1d", "aten::upsample_nearest2d",
                                       "aten::upsample_linear1d", "aten::upsample_bilinear2d",
                                       "aten::upsample_bicubic2d"};
  return std::any_of(std::begin(kKinds), std::end(kKinds), [&](const char* kind) { return isKind(node, kind); });
}

bool areAll(const Value* list, std::int64_t wanted) {
  const auto values = constantInts(list);
  return values && std::all_of(values->begin(), values->end(), [&](std::int64_t value) { return value == wanted; });
}

Decline whyNot(PassContext& context, Node* convolution, UpsampleMatch* match) {
  WeightedNode weighted;
  if (Decline why = readWeightedNode(convolution, context, weighted)) return why;
  if (Decline why = checkOnlyUse(match->upsample, convolution)) return why;
  const at::Tensor& w = weighted.weight;
  constexpr std::size_t kStride = 3;
  if (weighted.transposed || w.numel() != w.size(0) * w.size(1) || !areAll(convolution->input(kStride), 1) ||
      !areAll(convolution->input(kConvolutionPadding), 0)) {
    return {reasons::kUnsupportedAttribute, "The convolution reads more than single pixels."};
  }
  const Value* source = match->upsample->input(0);
  if (context.mayBeWritten(source) || context.mayBeWritten(match->upsample->output()))
    return {reasons::kAliased, "The image may be written to."};
  const auto before = knownSizes(source), after = knownSizes(convolution->output());
  if (!before || !after || before->size() != after->size() || knownDtype(convolution->output()) != at::kFloat)
    return {reasons::kUnsupportedDtype, "The image is not known to be float32."};
  std::int64_t few = 1, many = 1;  // pixels
  for (std::size_t axis = 2; axis < before->size(); ++axis) {
    few *= (*before)[axis];
    many *= (*after)[axis];
  }
  if ((*after)[1] > (*before)[1] || many < 2 * few)
    return {reasons::kNotProfitable, "Enlarging the result would cost more than it saves."};
  match->sizes = *before;
  match->sizes[1] = (*after)[1];
  return {};
}

std::optional<UpsampleMatch> matchUpsample(PassContext& context, Node* convolution, Decline* why) {
  UpsampleMatch match;
  match.upsample = convolution->input(0)->node();
  if (!isUpsample(match.upsample)) return std::nullopt;
  *why = whyNot(context, convolution, &match);
  return match;
}

void rewriteUpsample(Rewriter& rewriter, Node* convolution, const UpsampleMatch& match) {
  std::vector<Value*> inputs = convolution->inputs().vec();
  inputs[0] = match.upsample->input(0);
  Node* small = rewriter.create("aten::convolution", inputs, convolution);
  small->output()->setType(c10::TensorType::createContiguous(at::kFloat, at::kCPU, match.sizes));
  std::vector<Value*> operands = match.upsample->inputs().vec();
  operands[0] = small->output();
  Node* enlarged = rewriter.create(match.upsample->kind().toQualString(), operands, convolution);
  enlarged->output()->setType(convolution->output()->type());
  rewriter.replace({match.upsample, convolution}, convolution->output(), enlarged->output(),
                   "convolves before the image is enlarged");
}

bool sinkUpsample(Graph& graph, PassContext& context) {
  return rewriteMatches(context, context.nodes({"aten::convolution"}), matchUpsample, rewriteUpsample);
}

}  // namespace

const Pass kSinkUpsample = {"sink-upsample",
                            "Enlarges the result of a convolution of single pixels instead of its source.",
                            &sinkUpsample,
                            {"aten::convolution"}};

}  // namespace ipex_studio
