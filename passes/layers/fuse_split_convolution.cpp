// Makes one grouped convolution of convolutions of the pieces of a tensor whose results are joined.
//   before  %a = slice(%x, 1, 0, 8, 1)    %p = relu(convolution(%a, Wa, ba, s, …, 1))
//           %b = slice(%x, 1, 8, 16, 1)   %q = relu(convolution(%b, Wb, bb, s, …, 1))   %y = cat([%p, %q], 1)
//   after   %c = slice(%x, 1, 0, 16, 1)   %y = relu(convolution(%c, [Wa; Wb], [ba; bb], s, …, 2))
// Models with groups are also written so: a loop over channels, cardinality in branches.
// Declines: weights-not-constant, unsupported-dtype, unsupported-attribute (transposed), mixed-dtype, shape-mismatch
// (pieces or attributes differ), value-may-be-aliased-or-written. Runs after the folds into weights, so that
// normalizations of single branches are gone. Numerics: none but the order of sums that another kernel selects.
#include <fmt/format.h>

#include <algorithm>

#include "core/graph/rewrite_matches.h"
#include "passes/match/pieces.h"
#include "passes/match/weighted_node.h"
#include "passes/pass_list.h"

namespace ipex_studio {

using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;
namespace aten = torch::jit::aten;

namespace {

constexpr std::size_t kFirstAttribute = 3;  // stride, padding, dilation … of aten::convolution

// A convolution and the operations on its result alone, in order.
struct Branch {
  Node* convolution = nullptr;
  std::vector<Node*> after;
  std::vector<PostOp> post_ops;
  WeightedNode weighted;
};

struct SplitConvolution {
  std::vector<Branch> branches;
  Pieces pieces;
};

std::optional<Branch> readBranch(Value* value, const Node* user) {
  Branch branch;
  while (usedOnlyBy(value, user) && value->node()->owningBlock() == user->owningBlock()) {
    Node* node = value->node();
    if (node->kind() == aten::convolution) {
      branch.convolution = node;
      return branch;
    }
    const auto post_op = readUnaryPostOp(node);
    if (!post_op) return std::nullopt;
    branch.after.insert(branch.after.begin(), node);
    branch.post_ops.insert(branch.post_ops.begin(), *post_op);
    user = node;
    value = node->input(0);
  }
  return std::nullopt;
}

std::optional<SplitConvolution> readBranches(Node* concat) {
  const std::vector<Value*> joined = joinedValues(concat);
  if (joined.empty() || readAxis(concat->input(1), concat->output()) != 1) return std::nullopt;
  SplitConvolution match;
  std::vector<Value*> sources;
  for (Value* value : joined) {
    const auto branch = readBranch(value, concat->input(0)->node());
    if (!branch) return std::nullopt;
    match.branches.push_back(*branch);
    sources.push_back(branch->convolution->input(0));
  }
  const auto pieces = readPieces(sources);
  if (!pieces || pieces->axis != 1 || pieces->removes_axis) return std::nullopt;
  match.pieces = *pieces;
  return match;
}

bool sameConstant(const Value* a, const Value* b) {
  if (a == b) return true;
  const auto ints = constantInts(a);
  if (ints) return ints == constantInts(b);
  const auto flag = constantBool(a);
  if (flag) return flag == constantBool(b);
  return constantInt(a) && constantInt(a) == constantInt(b);
}

bool sameForm(const Branch& a, const Branch& b) {
  if (a.post_ops != b.post_ops || a.weighted.weight.sizes() != b.weighted.weight.sizes()) return false;
  for (std::size_t i = kFirstAttribute; i < a.convolution->inputs().size(); ++i) {
    if (!sameConstant(a.convolution->input(i), b.convolution->input(i))) return false;
  }
  return true;
}

Decline whyNot(PassContext& context, SplitConvolution* match) {
  Branch& first = match->branches.front();
  for (Branch& branch : match->branches) {
    if (Decline why = readWeightedNode(branch.convolution, context, branch.weighted)) return why;
    if (branch.weighted.transposed)
      return {reasons::kUnsupportedAttribute, "Transposed convolutions of pieces stay apart."};
    if (!sameForm(branch, first)) return {reasons::kShapeMismatch, "The convolutions of the pieces differ in form."};
    if (branch.weighted.weight.scalar_type() != first.weighted.weight.scalar_type())
      return {reasons::kMixedDtype, "The weights have several dtypes."};
  }
  if (context.mayBeWritten(match->pieces.source))
    return {reasons::kAliased, "The tensor may be written to after it is cut to pieces."};
  return {};
}

std::optional<SplitConvolution> matchSplit(PassContext& context, Node* concat, Decline* why) {
  auto match = readBranches(concat);
  if (match) *why = whyNot(context, &*match);
  return match;
}

at::Tensor joinedWeights(const SplitConvolution& match) {
  std::vector<at::Tensor> parts;
  for (const Branch& branch : match.branches) parts.push_back(branch.weighted.weight.detach());
  return at::cat(parts);
}

Value* joinedBias(Rewriter& rewriter, const SplitConvolution& match, Node* before) {
  const bool any = std::any_of(match.branches.begin(), match.branches.end(),
                               [](const Branch& branch) { return branch.weighted.bias.has_value(); });
  if (!any) return rewriter.none(before);
  std::vector<at::Tensor> parts;
  for (const Branch& branch : match.branches) {
    const at::Tensor& weight = branch.weighted.weight;
    parts.push_back(branch.weighted.bias ? branch.weighted.bias->detach()
                                         : at::zeros({weight.size(0)}, weight.dtype()));
  }
  return rewriter.constant(at::cat(parts), before);
}

// The type of what replaces `node` of one piece, with the channels of all.
c10::TypePtr joinedType(const Value* piece, std::int64_t channels) {
  auto sizes = knownSizes(piece);
  const auto dtype = knownDtype(piece);
  if (!sizes || !dtype) return c10::TensorType::get();
  (*sizes)[1] = channels;
  return c10::TensorType::createContiguous(*dtype, at::kCPU, *sizes);
}

// The channels that the pieces cover.
Value* sourceOf(Rewriter& rewriter, const SplitConvolution& match, Node* before) {
  const Pieces& pieces = match.pieces;
  if (pieces.whole()) return pieces.source;
  const WeightedNode& first = match.branches.front().weighted;
  const std::int64_t channels = static_cast<std::int64_t>(match.branches.size()) * first.groups * first.weight.size(1);
  Value* one = rewriter.constant(1, before);
  Value* begin = rewriter.constant(pieces.begin, before);
  Value* end = rewriter.constant(pieces.begin + channels, before);
  Node* slice = rewriter.create("aten::slice", {pieces.source, one, begin, end, one}, before);
  slice->output()->setType(joinedType(match.branches.front().convolution->input(0), channels));
  return slice->output();
}

void rewriteSplit(Rewriter& rewriter, Node* concat, const SplitConvolution& match) {
  const Branch& first = match.branches.front();
  std::vector<Value*> inputs = first.convolution->inputs().vec();
  inputs[0] = sourceOf(rewriter, match, concat);
  inputs[1] = rewriter.constant(joinedWeights(match), concat);
  inputs[2] = joinedBias(rewriter, match, concat);
  const auto groups = static_cast<std::int64_t>(match.branches.size()) * first.weighted.groups;
  inputs[kConvolutionGroups] = rewriter.constant(groups, concat);
  const std::int64_t channels = static_cast<std::int64_t>(match.branches.size()) * first.weighted.weight.size(0);
  Node* last = rewriter.create("aten::convolution", inputs, concat);
  last->output()->setType(joinedType(first.convolution->output(), channels));
  for (Node* after : first.after) {
    std::vector<Value*> operands = after->inputs().vec();
    operands[0] = last->output();
    last = rewriter.create(after->kind().toQualString(), operands, concat);
    last->output()->setType(joinedType(after->output(), channels));
  }
  std::vector<Node*> consumed = match.pieces.nodes;
  for (const Branch& branch : match.branches) {
    consumed.push_back(branch.convolution);
    consumed.insert(consumed.end(), branch.after.begin(), branch.after.end());
  }
  consumed.push_back(concat->input(0)->node());
  consumed.push_back(concat);
  rewriter.replace(consumed, concat->output(), last->output(),
                   fmt::format("made one convolution in {} groups of {}", groups, match.branches.size()));
}

bool fuseSplitConvolution(Graph& graph, PassContext& context) {
  return rewriteMatches(context, context.nodes({"aten::cat"}), matchSplit, rewriteSplit);
}

}  // namespace

const Pass kFuseSplitConvolution = {"fuse-split-convolution",
                                    "Makes one grouped convolution of those of the pieces of a tensor.",
                                    &fuseSplitConvolution,
                                    {"aten::convolution"}};

}  // namespace ipex_studio
