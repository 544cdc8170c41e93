// Recognises gelu that was written out, in all orders of its operands.
//   before  %h = mul(%x, 0.5)   %e = erf(div(%x, 1.41421))   %z = mul(%h, add(%e, 1))
//   after   %z = gelu(%x, "none")
//   before  %t = tanh(mul(add(%x, mul(pow(%x, 3), 0.044715)), 0.797885))   %z = mul(mul(%x, 0.5), add(%t, 1))
//   after   %z = gelu(%x, "tanh")        likewise with %x·0.797885·(1 + 0.044715·%x·%x) inside
// Declines: producer-has-other-uses (an intermediate), unsupported-dtype (not known to be floating),
// value-may-be-aliased-or-written. Runs before every fusion: each of those knows one node per activation. Numerics:
// constants within 1e-5 count as equal; otherwise the same formula in another order, a few ulp.
#include <cmath>

#include "core/graph/rewrite_matches.h"
#include "passes/match/algebra.h"
#include "passes/match/post_op_fusion.h"
#include "passes/pass_list.h"

namespace ipex_studio {

using torch::jit::Node;
using torch::jit::Value;

namespace {

constexpr double kInverseSqrt2 = 0.70710678118654752;
constexpr double kSqrt2OverPi = 0.79788456080286536;
constexpr double kCubic = 0.044715;

struct GeluMatch {
  Value* x = nullptr;
  const char* approximate = "none";
  std::vector<Node*> nodes;
};

void add(std::vector<Node*>* nodes, const std::vector<Node*>& more) {
  nodes->insert(nodes->end(), more.begin(), more.end());
}

// `value` is factor·x^power.
bool isPower(Value* value, const Value* x, std::size_t power, double factor, std::vector<Node*>* nodes) {
  const Product product = readProduct(value);
  if (product.factors.size() != power || !isAbout(product.coefficient, factor)) return false;
  for (const Value* base : product.factors) {
    if (base != x) return false;
  }
  add(nodes, product.nodes);
  return true;
}

// `value` is x + 0.044715·x³.
bool isCubicSum(Value* value, const Value* x, std::vector<Node*>* nodes) {
  const auto sum = readSum(value);
  if (!sum) return false;
  nodes->push_back(sum->node);
  if (sum->left == x) return sum->right_factor != 0 && isPower(sum->right, x, 3, kCubic / sum->right_factor, nodes);
  return sum->right == x && sum->right_factor == 1 && isPower(sum->left, x, 3, kCubic, nodes);
}

// `value` is 1 + 0.044715·x².
bool isSquareTerm(Value* value, const Value* x, std::vector<Node*>* nodes) {
  const Affine affine = readAffine(value);
  if (affine.nodes.empty() || affine.offset != 1 || affine.scale == 0) return false;
  add(nodes, affine.nodes);
  return isPower(affine.value, x, 2, kCubic / affine.scale, nodes);
}

bool isTanhArgument(Value* value, Value* x, std::vector<Node*>* nodes) {
  const Product product = readProduct(value);
  if (!isAbout(product.coefficient, kSqrt2OverPi)) return false;
  add(nodes, product.nodes);
  if (product.factors.size() == 1) return isCubicSum(product.factors[0], x, nodes);
  Value* other = product.otherThan(x);
  return other && isSquareTerm(other, x, nodes);
}

// product = 0.5·x·(1 + f(x)); `gate` is the factor that is not x.
std::optional<GeluMatch> matchGate(const Product& product, Value* x, Value* gate) {
  const Affine affine = readAffine(gate);
  const bool is_half =
      isAbout(product.coefficient * affine.scale, 0.5) && isAbout(product.coefficient * affine.offset, 0.5);
  if (affine.nodes.empty() || !is_half) return std::nullopt;
  Node* function = affine.value->node();
  if (function->inputs().size() != 1) return std::nullopt;
  const std::string kind = function->kind().toQualString();
  GeluMatch match{x, kind == "aten::tanh" ? "tanh" : "none", product.nodes};
  add(&match.nodes, affine.nodes);
  match.nodes.push_back(function);
  if (kind == "aten::erf" && isPower(function->input(0), x, 1, kInverseSqrt2, &match.nodes)) return match;
  if (kind == "aten::tanh" && isTanhArgument(function->input(0), x, &match.nodes)) return match;
  return std::nullopt;
}

Decline whyNot(PassContext& context, const GeluMatch& match, const Node* root) {
  const auto dtype = knownDtype(match.x);
  if (!onlyReadInside(match.nodes, root)) return {reasons::kOtherUses, "A part of this gelu is read elsewhere."};
  if (!dtype || !at::isFloatingType(*dtype)) {
    return {reasons::kUnsupportedDtype, "The source of this gelu is not known to be floating."};
  }
  if (context.mayBeWritten(match.x)) return {reasons::kAliased, "The source of this gelu may be written to."};
  return {};
}

std::optional<GeluMatch> matchGelu(PassContext& context, Node* root, Decline* why) {
  const std::string kind = root->kind().toQualString();
  if (kind != "aten::mul" && kind != "aten::div") return std::nullopt;
  const Product product = readProduct(root->output());
  if (product.factors.size() != 2) return std::nullopt;
  auto match = matchGate(product, product.factors[0], product.factors[1]);
  if (!match) match = matchGate(product, product.factors[1], product.factors[0]);
  if (match) *why = whyNot(context, *match, root);
  return match;
}

void rewriteGelu(Rewriter& rewriter, Node* root, const GeluMatch& match) {
  Value* approximate = rewriter.constant(match.approximate, root);
  Node* gelu = rewriter.create("aten::gelu", {match.x, approximate}, root);
  rewriter.replace(match.nodes, root->output(), gelu->output(), "recognised gelu");
}

bool canonicalizeGelu(torch::jit::Graph& graph, PassContext& context) {
  return rewriteMatches(context, context.nodes({"aten::mul", "aten::div"}), matchGelu, rewriteGelu);
}

}  // namespace

const Pass kCanonicalizeGelu = {
    "canonicalize-gelu", "Recognises gelu that was written out.", &canonicalizeGelu, {"aten::erf", "aten::tanh"}};

}  // namespace ipex_studio
