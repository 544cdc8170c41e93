// Recognises silu (swish) that was written out.
//   before  %s = sigmoid(%x)   %z = mul(%x, %s)
//   after   %z = silu(%x)
// Declines: producer-has-other-uses (the sigmoid), unsupported-dtype (not known to be floating),
// value-may-be-aliased-or-written. Runs before every fusion: each of those knows one node per activation.
// Numerics: one rounding less.
#include "core/graph/node_facts.h"
#include "core/graph/rewrite_matches.h"
#include "passes/match/algebra.h"
#include "passes/pass_list.h"

namespace ipex_studio {

using torch::jit::Node;
using torch::jit::Value;

namespace {

struct SiluMatch {
  Value* x = nullptr;
  Node* sigmoid = nullptr;
};

// The product as x·sigmoid(x).
std::optional<SiluMatch> readSilu(Node* product) {
  if (!isKind(product, "aten::mul") || product->inputs().size() != 2) return std::nullopt;
  for (std::size_t side : {0, 1}) {
    Value* x = product->input(1 - side);
    Node* sigmoid = product->input(side)->node();
    if (isKind(sigmoid, "aten::sigmoid") && sigmoid->input(0) == x) return SiluMatch{x, sigmoid};
  }
  return std::nullopt;
}

Decline whyNot(PassContext& context, const SiluMatch& match, Node* product) {
  if (!onlyReadInside({product, match.sigmoid}, product)) {
    return {reasons::kOtherUses, "The sigmoid of this silu is read elsewhere."};
  }
  const auto dtype = knownDtype(match.x);
  if (!dtype || !at::isFloatingType(*dtype)) {
    return {reasons::kUnsupportedDtype, "The source of this silu is not known to be floating."};
  }
  if (context.mayBeWritten(match.x)) return {reasons::kAliased, "The source of this silu may be written to."};
  return {};
}

std::optional<SiluMatch> matchSilu(PassContext& context, Node* product, Decline* why) {
  auto match = readSilu(product);
  if (match) *why = whyNot(context, *match, product);
  return match;
}

void rewriteSilu(Rewriter& rewriter, Node* product, const SiluMatch& match) {
  Node* silu = rewriter.create("aten::silu", {match.x}, product);
  rewriter.replace({match.sigmoid, product}, product->output(), silu->output(), "recognised silu");
}

bool canonicalizeSilu(torch::jit::Graph& graph, PassContext& context) {
  return rewriteMatches(context, context.nodes({"aten::mul"}), matchSilu, rewriteSilu);
}

}  // namespace

const Pass kCanonicalizeSilu = {
    "canonicalize-silu", "Recognises silu (swish) that was written out.", &canonicalizeSilu, {"aten::sigmoid"}};

}  // namespace ipex_studio
