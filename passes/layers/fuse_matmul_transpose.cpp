// Lets a matrix product read its operands transposed, and scales its result itself.
//   before  %t = transpose(%k, -2, -1)   %y = matmul(div(%q, 8), %t)
//   after   %y = ipex_studio::matmul(%q, %k, [], "matmul{scale=0.125,transpose_b=1}")
// Swaps of the last two axes by transpose, permute, t, mT; factors on either operand, and on the result, by mul or div
// with a number. The transposed view may have other users: it costs nothing. A tensor with one factor for each row of
// the result, or for each matrix, scales the rows of the left operand instead where those are shorter:
//   before  %y = mul(matmul(%q, %k), %t)     [B, H, S, T], %t [H, 1, 1]
//   after   %y = ipex_studio::matmul(mul(%q, %t), %k, [], "matmul{}")
// Declines: producer-has-other-uses, value-is-graph-output, control-flow, value-may-be-aliased-or-written (a scaled
// operand); unsupported-dtype. Runs before fuse-softmax and fuse-activation: a factor costs nothing here, and one of a
// tensor would hide the product from fuse-attention. Numerics: one rounding less per factor.
#include <fmt/format.h>

#include <algorithm>

#include "core/graph/elementwise.h"
#include "core/graph/node_facts.h"
#include "core/graph/rewrite_matches.h"
#include "passes/match/post_op_fusion.h"
#include "passes/pass_list.h"

namespace ipex_studio {

using torch::jit::Node;
using torch::jit::Value;

namespace {

struct AbsorbMatch {
  FusedOp op;             // the product as it becomes
  Node* place = nullptr;  // in front of which it is made
  std::vector<Node*> consumed;
  std::string text;
  Value* row_factors = nullptr;  // to multiply its left operand with
};

bool isSwap(std::int64_t a, std::int64_t b, std::int64_t rank) {
  a = a < 0 ? a + rank : a;
  b = b < 0 ? b + rank : b;
  return std::min(a, b) == rank - 2 && std::max(a, b) == rank - 1;
}

// The tensor that `value` views with its last two axes exchanged; null if it is no such view.
Value* withoutTranspose(Value* value) {
  Node* node = value->node();
  if (node->inputs().empty()) return nullptr;
  const auto sizes = knownSizes(node->input(0));
  if (!sizes || sizes->size() < 2) return nullptr;
  const auto rank = static_cast<std::int64_t>(sizes->size());
  const std::string kind = node->kind().toQualString();
  if ((kind == "aten::t" || kind == "aten::numpy_T") && rank == 2) return node->input(0);
  if (kind == "aten::mT") return node->input(0);
  if (kind == "aten::transpose" && node->inputs().size() == 3) {
    const auto a = constantInt(node->input(1));
    const auto b = constantInt(node->input(2));
    return a && b && isSwap(*a, *b, rank) ? node->input(0) : nullptr;
  }
  if (kind != "aten::permute" || node->inputs().size() != 2) return nullptr;
  const auto order = constantInts(node->input(1));
  if (!order || static_cast<std::int64_t>(order->size()) != rank) return nullptr;
  for (std::int64_t axis = 0; axis < rank - 2; ++axis) {
    const std::int64_t from = (*order)[static_cast<std::size_t>(axis)];
    if ((from < 0 ? from + rank : from) != axis) return nullptr;
  }
  const std::int64_t last = order->back() < 0 ? order->back() + rank : order->back();
  return last == rank - 2 ? node->input(0) : nullptr;
}

// The value of an operand may be read at the product instead of where it was scaled.
Decline whyNotScaled(PassContext& context, const Value* scaled, Value* data, const Node* matmul) {
  if (scaled->uses().size() != 1) return {reasons::kOtherUses, "The scaled operand is read elsewhere."};
  if (scaled->node()->owningBlock() != matmul->owningBlock()) {
    return {reasons::kControlFlow, "The operand is scaled in another block."};
  }
  if (!isFloat32(data)) return {reasons::kUnsupportedDtype, "The scaled operand is not known to be float32."};
  if (context.mayBeWritten(data)) return {reasons::kAliased, "The scaled operand may be written to."};
  return {};
}

// Takes transposes and factors of one operand into `op`. Nodes that lose this reader are appended to `consumed`.
void absorbOperand(PassContext& context, Node* matmul, std::size_t side, FusedOp* op, std::vector<Node*>* consumed) {
  const char* flag = side == 0 ? "transpose_a" : "transpose_b";
  const Node* reader = matmul;  // of the value below
  for (;;) {
    Value* value = op->base[side];
    if (Value* source = withoutTranspose(value)) {
      if (op->spec.attributes.erase(flag) == 0) op->spec.attributes[flag] = std::int64_t{1};
      op->base[side] = source;
    } else if (const auto factor = readFactor(value)) {
      // Behind a view that stays alive for others, the scaled tensor does too.
      const bool view_stays = reader != matmul && reader->output()->uses().size() > 1;
      Decline decline = whyNotScaled(context, value, factor->second, matmul);
      if (view_stays) decline = {reasons::kOtherUses, "The scaled operand is read elsewhere."};
      if (decline.reason) {
        context.missed(value->node(), decline.reason, decline.text);
        return;
      }
      op->spec.attributes["scale"] = op->spec.floatOr("scale", 1) * factor->first;
      op->base[side] = factor->second;
    } else {
      return;
    }
    consumed->push_back(value->node());
    reader = value->node();
  }
}

std::optional<AbsorbMatch> matchOperands(PassContext& context, Node* node) {
  auto op = readFusedOp(node);
  const bool plain = op && op->spec.kind == OpKind::kMatmul;
  if (!plain) return std::nullopt;
  const FusedOp original = *op;
  if (!isFloat32(original.base[0]) || !isFloat32(original.base[1])) {
    if (withoutTranspose(original.base[0]) || withoutTranspose(original.base[1])) {
      context.missed(node, reasons::kUnsupportedDtype, "The matrix product is not known to compute in float32.");
    }
    return std::nullopt;
  }
  std::vector<Node*> consumed;
  absorbOperand(context, node, 0, &*op, &consumed);
  absorbOperand(context, node, 1, &*op, &consumed);
  if (consumed.empty()) return std::nullopt;
  const std::string text = fmt::format("moved {} views and factors into a matrix product", consumed.size());
  consumed.push_back(node);
  return AbsorbMatch{*std::move(op), node, std::move(consumed), text, nullptr};
}

// A factor behind a product that has no post-operation yet.
std::optional<AbsorbMatch> matchResult(PassContext& context, Node* node) {
  if (node->outputs().size() != 1) return std::nullopt;
  const auto factor = readFactor(node->output());
  if (!factor) return std::nullopt;
  auto op = readFusedOp(factor->second->node());
  if (!op || op->spec.kind != OpKind::kMatmul || !op->spec.post_ops.empty()) return std::nullopt;
  Decline decline;
  const auto producer = readProducer(factor->second, node, &decline);
  if (decline) context.missed(node, decline);
  if (!producer) return std::nullopt;
  op->spec.attributes["scale"] = op->spec.floatOr("scale", 1) * factor->first;
  return AbsorbMatch{
      *std::move(op), producer->node, {producer->node, node}, "moved a factor into a matrix product", nullptr};
}

// Factors of whole rows of the product, which are as well factors of the left operand's rows.
std::optional<AbsorbMatch> matchRowFactors(PassContext& context, Node* node) {
  if (!isKind(node, "aten::mul")) return std::nullopt;
  for (const std::size_t side : {0, 1}) {
    Value* factors = node->input(1 - side);
    auto op = readFusedOp(node->input(side)->node());
    if (!op || op->spec.kind != OpKind::kMatmul || !op->spec.post_ops.empty() || op->spec.intOr("transpose_a", 0) != 0)
      continue;
    const auto each = knownSizes(factors), rows = knownSizes(op->base[0]), result = knownSizes(node->input(side));
    const bool of_rows = each && rows && result && !each->empty() && each->back() == 1 && broadcastsTo(*each, *rows);
    if (!of_rows || rows->back() >= result->back() || !isFloat32(factors) || !isFloat32(op->base[0])) continue;
    Decline decline;
    const auto producer = readProducer(node->input(side), node, &decline);
    if (!decline &&
        (context.mayBeWritten(factors) || context.mayBeWritten(op->base[0]) || context.mayBeWritten(op->base[1]))) {
      decline = {reasons::kAliased, "An operand of the product may be written to before it is scaled."};
    }
    if (decline) context.missed(node, decline);
    if (decline || !producer) return std::nullopt;
    return AbsorbMatch{*std::move(op),
                       node,
                       {producer->node, node},
                       "moved factors of rows into the operand of a matrix product",
                       factors};
  }
  return std::nullopt;
}

// A node may leave a remark for each of the three.
std::optional<AbsorbMatch> matchAbsorbed(PassContext& context, Node* node, Decline*) {
  auto match = matchOperands(context, node);
  if (!match) match = matchResult(context, node);
  if (!match) match = matchRowFactors(context, node);
  return match;
}

void rewriteAbsorbed(Rewriter& rewriter, Node* node, AbsorbMatch& match) {
  if (match.row_factors != nullptr) {
    Value* rows = match.op.base[0];
    Node* scaled = rewriter.create("aten::mul", {rows, match.row_factors}, node);
    scaled->output()->setType(rows->type());
    match.op.base[0] = scaled->output();
  }
  Node* fused = writeFusedOp(rewriter, match.op, match.place);
  rewriter.replace(match.consumed, node->output(), fused->output(), match.text);
}

bool fuseMatmulTranspose(torch::jit::Graph& graph, PassContext& context) {
  const auto& products = kFuseMatmulTranspose.needs;
  const auto wanted = [&](c10::Symbol kind) {
    return mayBeElementwise(kind) ||
           std::find(products.begin(), products.end(), std::string(kind.toQualString())) != products.end();
  };
  return rewriteMatches(context, context.nodesWhere(wanted), matchAbsorbed, rewriteAbsorbed);
}

}  // namespace

const Pass kFuseMatmulTranspose = {"fuse-matmul-transpose",
                                   "Moves transposes of operands and factors into matrix products.",
                                   &fuseMatmulTranspose,
                                   {"aten::matmul", "aten::mm", "aten::bmm", "ipex_studio::matmul"}};

}  // namespace ipex_studio
