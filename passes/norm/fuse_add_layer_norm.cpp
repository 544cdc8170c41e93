// Fuses the sum in front of a layer normalization into it.
//   before  %s = add(%x, %r, 1)   %y = layer_norm(%s, [768], gamma, beta, 1e-12)
//   after   %y = ipex_studio::layer_norm(%x, gamma, beta, %r, "layer_norm{axes=1,eps=1e-12}")
// Where the sum is read elsewhere, it is the second result:
//   after   %y, %s = ipex_studio::add_layer_norm(%x, gamma, beta, %r, "layer_norm{axes=1,eps=1e-12,sum_output=1}")
// Likewise in front of what fuse-rms-norm made.
// Declines: unsupported-attribute, unsupported-dtype, unknown-shape, operand-broadcasts-result (the sum is of two
// tensors of one size), would-create-a-cycle (the sum is read before gamma exists), control-flow,
// value-may-be-aliased-or-written. Runs after fuse-residual-add: a sum is cheaper in the matrix product before it.
// Numerics: the same sum; the operator computes mean and variance of it in another order, a few ulp.
#include <algorithm>

#include "core/graph/node_facts.h"
#include "core/graph/rewrite_matches.h"
#include "passes/match/post_op_fusion.h"
#include "passes/pass_list.h"

namespace ipex_studio {

using torch::jit::Node;
using torch::jit::Value;

namespace {

struct AddLayerNormMatch {
  Node* norm = nullptr;
  Node* sum = nullptr;
  Value* gamma = nullptr;
  Value* beta = nullptr;
  OpSpec spec;
};

bool isOwn(const Node* norm) { return isKind(norm, "ipex_studio::layer_norm"); }

// A normalization of a sum of two tensors, which has no residual yet.
std::optional<AddLayerNormMatch> matchNorm(Node* norm) {
  const bool own = isOwn(norm) && isNone(norm->input(3));
  if (!own && (!isKind(norm, "aten::layer_norm") || norm->inputs().size() != 6)) return std::nullopt;
  Node* sum = norm->input(0)->node();
  if (!isKind(sum, "aten::add")) return std::nullopt;
  const auto elementwise = readElementwise(sum, 0);
  if (!elementwise || !elementwise->operand) return std::nullopt;
  return AddLayerNormMatch{norm, sum, norm->input(own ? 1 : 2), norm->input(own ? 2 : 3), {}};
}

// Reads the normalization's attributes and the sizes it normalizes; false if they are not constant.
bool readNorm(AddLayerNormMatch* match, std::vector<std::int64_t>* normalized) {
  Node* norm = match->norm;
  if (isOwn(norm)) {
    const auto text = torch::jit::toIValue(norm->inputs().back());
    const auto sizes = knownSizes(norm->input(0));
    if (!text || !text->isString() || !sizes) return false;
    match->spec = parseOpSpec(text->toStringRef());
    const auto axes = static_cast<std::size_t>(match->spec.intOr("axes", 1));
    if (axes > sizes->size()) return false;
    normalized->assign(sizes->end() - static_cast<std::ptrdiff_t>(axes), sizes->end());
    return true;
  }
  const auto sizes = constantInts(norm->input(1));
  const auto eps = constantNumber(norm->input(4));
  if (!sizes || !eps) return false;
  *normalized = *sizes;
  match->spec.kind = OpKind::kLayerNorm;
  match->spec.attributes = {{"axes", static_cast<std::int64_t>(sizes->size())}, {"eps", *eps}};
  return true;
}

bool isAffine(const Value* value, const std::vector<std::int64_t>& sizes) {
  return isNone(value) || (isFloat32(value) && knownSizes(value) == sizes);
}

// The place of the fused node: at the normalization if everything else reads the sum after it, else at the sum if
// factor and offset exist there; null if neither holds.
Node* placeFor(const AddLayerNormMatch& match) {
  const auto& uses = match.sum->output()->uses();
  const bool read_behind = std::all_of(uses.begin(), uses.end(), [&](const torch::jit::Use& use) {
    return use.user == match.norm || use.user->isAfter(match.norm);
  });
  if (read_behind) return match.norm;
  const bool affine_exists = match.gamma->node()->isBefore(match.sum) && match.beta->node()->isBefore(match.sum);
  return affine_exists ? match.sum : nullptr;
}

Decline whyNot(PassContext& context, AddLayerNormMatch* match) {
  const Value* x = match->sum->input(0);
  const Value* residual = match->sum->input(1);
  std::vector<std::int64_t> normalized;
  if (!readNorm(match, &normalized) || constantNumber(match->sum->input(2)) != 1.0) {
    return {reasons::kUnsupportedAttribute,
            "Sizes, eps or the factor of the sum are not constant, or the factor is not 1."};
  }
  if (!isFloat32(x) || !isFloat32(residual))
    return {reasons::kUnsupportedDtype, "The sum is not known to be of float32."};
  if (!knownSizes(x) || !knownSizes(residual)) return {reasons::kUnknownShape, "The sizes of the sum are not known."};
  if (knownSizes(x) != knownSizes(residual)) return {reasons::kBroadcast, "The sum is of tensors of two sizes."};
  if (!isAffine(match->gamma, normalized) || !isAffine(match->beta, normalized)) {
    return {reasons::kUnsupportedDtype, "Factor or offset are not known to be float32 of the normalized sizes."};
  }
  if (match->sum->owningBlock() != match->norm->owningBlock())
    return {reasons::kControlFlow, "The sum stands in another block."};
  if (!placeFor(*match)) {
    return {reasons::kDependencyCycle, "The sum is read before the factor of the normalization is computed."};
  }
  for (const Value* value : {x, residual, const_cast<const Value*>(match->sum->output())}) {
    if (context.mayBeWritten(value)) return {reasons::kAliased, "The sum or its operands may be written to."};
  }
  return {};
}

void rewriteAddLayerNorm(Rewriter& rewriter, Node*, const AddLayerNormMatch& match) {
  const bool sum_is_read = match.sum->output()->uses().size() > 1;
  FusedOp op;
  op.spec = match.spec;
  if (sum_is_read) op.spec.attributes["sum_output"] = std::int64_t{1};
  op.base = {match.sum->input(0), match.gamma, match.beta, match.sum->input(1)};
  Node* fused = writeFusedOp(rewriter, op, placeFor(match));
  if (!sum_is_read) {
    rewriter.replace({match.sum, match.norm}, match.norm->output(), fused->output(),
                     "fused a sum into a layer normalization");
    return;
  }
  rewriter.replaceAll({match.sum, match.norm}, {match.norm->output(), match.sum->output()},
                      {fused->output(0), fused->output(1)}, "fused a sum into a layer normalization that returns it");
}

std::optional<AddLayerNormMatch> matchAddLayerNorm(PassContext& context, Node* norm, Decline* why) {
  auto match = matchNorm(norm);
  if (match) *why = whyNot(context, &*match);
  return match;
}

bool fuseAddLayerNorm(torch::jit::Graph& graph, PassContext& context) {
  return rewriteMatches(context, context.nodes(kFuseAddLayerNorm.needs), matchAddLayerNorm, rewriteAddLayerNorm);
}

}  // namespace

const Pass kFuseAddLayerNorm = {"fuse-add-layer-norm",
                                "Fuses the sum in front of a layer normalization into it.",
                                &fuseAddLayerNorm,
                                {"aten::layer_norm", "ipex_studio::layer_norm"}};

}  // namespace ipex_studio
