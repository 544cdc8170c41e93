// Recognises hardswish and hardsigmoid that were written out, in all orders of their operands.
//   before  %r = relu6(add(%x, 3))   %z = div(mul(%x, %r), 6)
//   after   %z = hardswish(%x)
//   before  %g = clamp(add(div(%x, 6), 0.5), 0, 1)   or   div(hardtanh(add(%x, 3), 0, 6), 6)
//   after   %g = hardsigmoid(%x)         and a product of %x and hardsigmoid(%x) is hardswish(%x)
// Declines: producer-has-other-uses (an intermediate), unsupported-dtype (not known to be floating),
// value-may-be-aliased-or-written. Runs before every fusion: each of those knows one node per activation. Numerics:
// constants within 1e-5 count as equal; a few ulp otherwise.
#include "core/graph/rewrite_matches.h"
#include "passes/match/algebra.h"
#include "passes/match/post_op_fusion.h"
#include "passes/pass_list.h"

namespace ipex_studio {

using torch::jit::Node;
using torch::jit::Value;

namespace {

struct HardSwishMatch {
  Value* x = nullptr;
  const char* kind = nullptr;  // the operator it is
  std::vector<Node*> nodes;
};

// coefficient·gate as hardsigmoid of some value; nullopt when it is none. A node that is hardsigmoid already counts.
std::optional<HardSwishMatch> matchGate(double coefficient, Value* gate) {
  const auto clip = readUnaryPostOp(gate->node());
  if (!clip) return std::nullopt;
  HardSwishMatch match{gate->node()->input(0), "aten::hardsigmoid", {gate->node()}};
  if (clip->kind == PostOpKind::kHardSigmoid && isAbout(coefficient, 1)) return match;
  if (clip->kind != PostOpKind::kClip || clip->alpha != 0 || !isAbout(coefficient * clip->beta, 1)) return std::nullopt;
  const Affine affine = readAffine(match.x);
  if (!isAbout(coefficient * affine.scale, 1.0 / 6) || !isAbout(coefficient * affine.offset, 0.5)) return std::nullopt;
  match.x = affine.value;
  match.nodes.insert(match.nodes.end(), affine.nodes.begin(), affine.nodes.end());
  return match;
}

// The root as a product of a gate, or of a gate and the value it gates.
std::optional<HardSwishMatch> matchProduct(Node* root) {
  const std::string kind = root->kind().toQualString();
  if (kind != "aten::mul" && kind != "aten::div") return std::nullopt;
  const Product product = readProduct(root->output());
  if (product.nodes.empty() || product.factors.size() > 2) return std::nullopt;
  for (Value* gate : product.factors) {
    auto match = matchGate(product.coefficient, gate);
    if (!match) continue;
    if (product.factors.size() == 2) {
      if (product.otherThan(gate) != match->x) continue;
      match->kind = "aten::hardswish";
    }
    match->nodes.insert(match->nodes.end(), product.nodes.begin(), product.nodes.end());
    return match;
  }
  return std::nullopt;
}

std::optional<HardSwishMatch> matchRoot(Node* root) {
  if (auto match = matchProduct(root)) return match;
  const auto own = readUnaryPostOp(root);
  return own && own->kind == PostOpKind::kClip ? matchGate(1, root->output()) : std::nullopt;
}

Decline whyNot(PassContext& context, const HardSwishMatch& match, const Node* root) {
  const auto dtype = knownDtype(match.x);
  if (!onlyReadInside(match.nodes, root)) return {reasons::kOtherUses, "A part of this activation is read elsewhere."};
  if (!dtype || !at::isFloatingType(*dtype)) {
    return {reasons::kUnsupportedDtype, "The source of this activation is not known to be floating."};
  }
  if (context.mayBeWritten(match.x)) return {reasons::kAliased, "The source of this activation may be written to."};
  return {};
}

std::optional<HardSwishMatch> matchHardSwish(PassContext& context, Node* root, Decline* why) {
  auto match = matchRoot(root);
  if (match) *why = whyNot(context, *match, root);
  return match;
}

void rewriteHardSwish(Rewriter& rewriter, Node* root, const HardSwishMatch& match) {
  Node* made = rewriter.create(match.kind, {match.x}, root);
  rewriter.replace(match.nodes, root->output(), made->output(), "recognised " + shortName(made));
}

bool canonicalizeHardswish(torch::jit::Graph& graph, PassContext& context) {
  std::vector<const char*> roots = kCanonicalizeHardswish.needs;  // a gate, or a product with one
  roots.insert(roots.end(), {"aten::mul", "aten::div"});
  return rewriteMatches(context, context.nodes(roots), matchHardSwish, rewriteHardSwish);
}

}  // namespace

const Pass kCanonicalizeHardswish = {"canonicalize-hardswish",
                                     "Recognises hardswish and hardsigmoid that were written out.",
                                     &canonicalizeHardswish,
                                     {"aten::relu6", "aten::hardtanh", "aten::clamp", "aten::clip", "aten::clamp_min",
                                      "aten::clamp_max", "aten::hardsigmoid"}};

}  // namespace ipex_studio
