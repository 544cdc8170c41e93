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
#include "core/graph/pass.h"
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

Decline match(Node* node, Node* pad, PassContext& context, Padding& padding) {
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

Node* writeSymmetric(Node* node, Node* pad, const Padding& padding, Rewriter& rewriter) {
  std::vector<Value*> inputs(node->inputs().begin(), node->inputs().end());
  inputs[0] = pad->input(0);
  inputs[kConvolutionPadding] = rewriter.constant(IValue(padding.begin), node);
  return rewriter.create("aten::convolution", inputs, node);
}

Node* writeAsymmetric(Node* node, Node* pad, const Padding& padding, const FusedOp& read, Rewriter& rewriter) {
  FusedOp op = read;
  op.base[0] = pad->input(0);
  op.spec.attributes["padding"] = padding.begin;
  op.spec.attributes["padding_end"] = padding.end;
  return writeFusedOp(rewriter, op, node);
}

bool foldPad(Graph& graph, PassContext& context) {
  bool changed = false;
  for (Node* node : context.nodes({"aten::convolution"})) {
    if (!context.rewriter.alive(node) || node->kind() != aten::convolution || node->inputs().size() != 9) continue;
    Node* pad = node->input(0)->node();
    if (!isPad(pad)) continue;
    Padding padding;
    Decline why = match(node, pad, context, padding);
    std::optional<FusedOp> op;
    if (!why && padding.begin != padding.end) {
      std::string text;
      op = readFusedOp(node, &text);
      if (!op) why = {reasons::kUnsupportedAttribute, text};
    }
    if (why) {
      context.missed(node, why);
      continue;
    }
    if (!context.rewriter.permit()) break;
    Node* folded = op ? writeAsymmetric(node, pad, padding, *op, context.rewriter)
                      : writeSymmetric(node, pad, padding, context.rewriter);
    folded->output()->setType(node->output()->type());
    context.rewriter.replace({node, pad}, node->output(), folded->output(), "folded padding into the convolution");
    changed = true;
  }
  return changed;
}

}  // namespace

const Pass kFoldPad = {"fold-pad",
                       "Folds zero padding into the convolution that reads it.",
                       &foldPad,
                       {"aten::constant_pad_nd", "aten::pad"}};

}  // namespace ipex_studio
