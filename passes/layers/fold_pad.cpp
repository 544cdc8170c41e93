// Folds a constant zero padding into the convolution that reads it.
//   before  %p = constant_pad_nd(%x, [1, 1, 2, 2], 0)   %y = convolution(%p, %w, %b, s, [0, 0], …)
//   after   %y = convolution(%x, %w, %b, s, [2, 1], …)
//   or, with unequal sides, ipex_studio::convolution with padding_end in its spec
// The padding stays for other users; each convolution that reads it takes it along.
// Declines: unsupported-attribute (another mode, value, cropping, padding of batch or channels, transposed
// convolution), operand-not-constant, value-may-be-aliased-or-written, control-flow, unsupported-dtype (unequal sides
// need float32). Runs after the folds into weights, which look for aten::convolution. Numerics: none changed.
#include <algorithm>

#include "core/graph/fused_op.h"
#include "core/graph/rewrite_matches.h"
#include "passes/match/weighted_node.h"
#include "passes/pass_list.h"

namespace ipex_studio {

using torch::jit::Graph;
using torch::jit::IValue;
using torch::jit::Node;
using torch::jit::Value;
namespace aten = torch::jit::aten;

namespace {

using Ints = std::vector<std::int64_t>;

struct Padding {
  Ints begin, end;  // per spatial dimension, in the convolution's order
};

struct PadMatch {
  Node* pad = nullptr;
  Padding padding;            // of both together
  std::optional<FusedOp> op;  // the convolution, where the sides are unequal
};

bool isPad(const Node* node) {
  return (node->kind() == aten::constant_pad_nd && node->inputs().size() == 3) ||
         (node->kind() == aten::pad && node->inputs().size() == 4);
}

Decline readPad(const Node* pad, std::size_t spatial, Padding& padding) {
  const auto sides = constantInts(pad->input(1));
  if (!sides) return {reasons::kNotConstant, "The padding is not constant."};
  if (pad->kind() == aten::pad) {
    const auto mode = torch::jit::toIValue(pad->input(2));
    if (!mode || !mode->isString() || mode->toStringRef() != "constant") {
      return {reasons::kUnsupportedAttribute, "Only padding with a constant is folded."};
    }
  }
  const Value* filler = pad->inputs().back();
  const auto value = isNone(filler) ? std::optional<double>(0) : constantNumber(filler);
  if (value != 0.0) return {reasons::kUnsupportedAttribute, "Only padding with zeros is folded."};
  const bool crops = std::any_of(sides->begin(), sides->end(), [](auto side) { return side < 0; });
  if (crops) return {reasons::kUnsupportedAttribute, "The padding crops."};
  for (std::size_t i = 2 * spatial; i < sides->size(); ++i) {
    if ((*sides)[i] != 0) return {reasons::kUnsupportedAttribute, "The padding extends channels or batch."};
  }
  padding.begin.assign(spatial, 0);
  padding.end.assign(spatial, 0);
  for (std::size_t i = 0; 2 * i + 1 < sides->size() && i < spatial; ++i) {
    padding.begin[spatial - 1 - i] = (*sides)[2 * i];
    padding.end[spatial - 1 - i] = (*sides)[2 * i + 1];
  }
  return {};
}

Decline readPadding(PassContext& context, const Node* node, const Node* pad, Padding& padding) {
  const auto own = constantInts(node->input(kConvolutionPadding));
  const auto transposed = constantBool(node->input(kConvolutionTransposed));
  if (!own || !transposed) return {reasons::kUnsupportedAttribute, "An attribute of the convolution is not constant."};
  if (*transposed) return {reasons::kUnsupportedAttribute, "A transposed convolution crops by its padding."};
  if (Decline why = readPad(pad, own->size(), padding)) return why;
  if (pad->owningBlock() != node->owningBlock()) return {reasons::kControlFlow, "The two are in different blocks."};
  if (context.mayBeWritten(pad->input(0)) || context.mayBeWritten(pad->output())) {
    return {reasons::kAliased, "What is padded may be written to in between."};
  }
  for (std::size_t i = 0; i < own->size(); ++i) {
    padding.begin[i] += (*own)[i];
    padding.end[i] += (*own)[i];
  }
  if (padding.begin != padding.end && knownDtype(pad->input(0)) != at::kFloat) {
    return {reasons::kUnsupportedDtype, "Unequal sides are folded for float32 only."};
  }
  return {};
}

Decline whyNot(PassContext& context, Node* convolution, PadMatch* match) {
  if (Decline why = readPadding(context, convolution, match->pad, match->padding)) return why;
  if (match->padding.begin == match->padding.end) return {};
  std::string text;
  match->op = readFusedOp(convolution, &text);
  return match->op ? Decline{} : Decline{reasons::kUnsupportedAttribute, text};
}

std::optional<PadMatch> matchPad(PassContext& context, Node* node, Decline* why) {
  if (node->kind() != aten::convolution || node->inputs().size() != 9) return std::nullopt;
  PadMatch match{node->input(0)->node(), {}, {}};
  if (!isPad(match.pad)) return std::nullopt;
  *why = whyNot(context, node, &match);
  return match;
}

Node* writeSymmetric(Rewriter& rewriter, Node* node, const PadMatch& match) {
  std::vector<Value*> inputs(node->inputs().begin(), node->inputs().end());
  inputs[0] = match.pad->input(0);
  inputs[kConvolutionPadding] = rewriter.constant(IValue(match.padding.begin), node);
  return rewriter.create("aten::convolution", inputs, node);
}

Node* writeAsymmetric(Rewriter& rewriter, Node* node, const PadMatch& match) {
  FusedOp op = *match.op;
  op.base[0] = match.pad->input(0);
  op.spec.attributes["padding"] = match.padding.begin;
  op.spec.attributes["padding_end"] = match.padding.end;
  return writeFusedOp(rewriter, op, node);
}

void rewritePad(Rewriter& rewriter, Node* node, const PadMatch& match) {
  Node* folded = match.op ? writeAsymmetric(rewriter, node, match) : writeSymmetric(rewriter, node, match);
  folded->output()->setType(node->output()->type());
  rewriter.replace({node, match.pad}, node->output(), folded->output(), "folded padding into the convolution");
}

bool foldPad(Graph& graph, PassContext& context) {
  return rewriteMatches(context, context.nodes({"aten::convolution"}), matchPad, rewritePad);
}

}  // namespace

const Pass kFoldPad = {"fold-pad",
                       "Folds zero padding into the convolution that reads it.",
                       &foldPad,
                       {"aten::constant_pad_nd", "aten::pad"}};

}  // namespace ipex_studio
