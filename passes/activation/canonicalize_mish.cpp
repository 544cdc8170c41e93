// Recognises mish that was written out with softplus, in both orders of the product.
//   before  %s = softplus(%x, 1, 20)   %t = tanh(%s)   %z = mul(%x, %t)
//   after   %z = mish(%x)
// Declines: operand-not-constant (beta or threshold), unsupported-attribute (another beta than 1, a threshold below
// 20), producer-has-other-uses (the tanh or the softplus), unsupported-dtype (not known to be FP32 or FP64: libtorch
// 1.13 has no mish in BF16 on a CPU), value-may-be-aliased-or-written. Runs before every fusion: each of those knows
// one node per activation. Numerics: two roundings less; above a threshold of 20 softplus is the identity, and the tanh
// is 1 with and without it.
#include <fmt/format.h>

#include "core/graph/node_facts.h"
#include "core/graph/rewrite_matches.h"
#include "passes/match/algebra.h"
#include "passes/pass_list.h"

namespace ipex_studio {

using torch::jit::Node;
using torch::jit::Value;

namespace {

struct MishMatch {
  Value* x = nullptr;
  Node* softplus = nullptr;
  Node* tanh = nullptr;
};

// The product as x·tanh(softplus(x)), whatever the softplus's beta and threshold.
std::optional<MishMatch> readMish(Node* product) {
  if (!isKind(product, "aten::mul") || product->inputs().size() != 2) return std::nullopt;
  for (std::size_t side : {0, 1}) {
    Value* x = product->input(1 - side);
    Node* tanh = product->input(side)->node();
    if (!isKind(tanh, "aten::tanh")) continue;
    Node* softplus = tanh->input(0)->node();
    if (isKind(softplus, "aten::softplus") && softplus->input(0) == x) return MishMatch{x, softplus, tanh};
  }
  return std::nullopt;
}

Decline whyNotThisSoftplus(Node* softplus) {
  const auto read = readUnaryPostOp(softplus);
  if (!read) return {reasons::kNotConstant, "Beta or threshold of the softplus in this product is not constant."};
  if (read->alpha != 1) {
    return {reasons::kUnsupportedAttribute,
            fmt::format("The softplus in this product has beta {}; mish is the one with beta 1.", read->alpha)};
  }
  if (read->beta < 20) {
    return {reasons::kUnsupportedAttribute,
            fmt::format("The softplus in this product is cut off above {}; mish needs 20 or more.", read->beta)};
  }
  return {};
}

Decline whyNotMish(PassContext& context, const MishMatch& match, Node* product) {
  if (auto why = whyNotThisSoftplus(match.softplus)) return why;
  if (!onlyReadInside({product, match.tanh, match.softplus}, product)) {
    return {reasons::kOtherUses, "The tanh or the softplus of this mish is read elsewhere."};
  }
  const auto dtype = knownDtype(match.x);
  if (dtype != at::kFloat && dtype != at::kDouble) {
    return {reasons::kUnsupportedDtype, "The source of this mish is not known to be FP32 or FP64."};
  }
  if (context.mayBeWritten(match.x)) return {reasons::kAliased, "The source of this mish may be written to."};
  return {};
}

std::optional<MishMatch> matchMish(PassContext& context, Node* product, Decline* why) {
  auto match = readMish(product);
  if (match) *why = whyNotMish(context, *match, product);
  return match;
}

void rewriteMish(Rewriter& rewriter, Node* product, const MishMatch& match) {
  Node* mish = rewriter.create("aten::mish", {match.x}, product);
  rewriter.replace({match.softplus, match.tanh, product}, product->output(), mish->output(), "recognised mish");
}

bool canonicalizeMish(torch::jit::Graph& graph, PassContext& context) {
  return rewriteMatches(context, context.nodes({"aten::mul"}), matchMish, rewriteMish);
}

}  // namespace

const Pass kCanonicalizeMish = {
    "canonicalize-mish", "Recognises mish that was written out.", &canonicalizeMish, {"aten::softplus"}};

}  // namespace ipex_studio
