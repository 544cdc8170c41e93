// Writes the casts that autocast put into a file as plain casts.
//   before  %l = aten::_autocast_to_reduced_precision(%x, false, true, Half, BFloat16)
//           %f = aten::_autocast_to_full_precision(%y, false, true)
//   after   %l = aten::to(%x, BFloat16)   %f = aten::to(%y, Float)
// Freezing a module within autocast writes one before each operand, weights too. They cast what is FP32, or what is of
// lower precision, and hand all else through: so does what is left of them where the dtype is another, or the CPU's
// autocast was off.
// Declines: operand-not-constant, unknown-shape (the dtype of the operand). Runs before fold-constants, which casts
// weights once. Numerics: none.
#include "core/graph/node_facts.h"
#include "core/graph/rewrite_matches.h"
#include "passes/pass_list.h"

namespace ipex_studio {
namespace {

using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;

constexpr std::size_t kCpuEnabled = 2, kCpuDtype = 4;

struct AutocastMatch {
  std::optional<at::ScalarType> dtype;  // nullopt: the operand is the result
};

std::optional<AutocastMatch> matchAutocast(PassContext&, const Node* node, Decline* why) {
  const bool reduces = isKind(node, "aten::_autocast_to_reduced_precision");
  const auto enabled = constantBool(node->input(kCpuEnabled));
  const auto low = reduces ? constantInt(node->input(kCpuDtype)) : std::optional<std::int64_t>();
  if (!enabled || (reduces && !low)) {
    *why = {reasons::kNotConstant, "Whether autocast is on is not constant."};
    return std::nullopt;
  }
  const auto dtype = knownDtype(node->input(0));
  if (!dtype) {
    *why = {reasons::kUnknownShape, "The type of its operand was not seen in the example run."};
    return std::nullopt;
  }
  const bool casts = *enabled && (reduces ? *dtype == at::kFloat : isLowPrecisionFloat(dtype));
  if (!casts) return AutocastMatch{};
  return AutocastMatch{reduces ? static_cast<at::ScalarType>(*low) : at::kFloat};
}

void rewriteAutocast(Rewriter& rewriter, Node* node, const AutocastMatch& match) {
  if (!match.dtype) {
    rewriter.replace({node}, node->output(), node->input(0), "casts nothing");
    return;
  }
  Value* const no = rewriter.constant(false, node);
  Value* const code = rewriter.constant(static_cast<std::int64_t>(*match.dtype), node);
  Node* const cast = rewriter.create("aten::to", {node->input(0), code, no, no, rewriter.none(node)}, node);
  cast->output()->setType(node->output()->type());
  rewriter.replace({node}, node->output(), cast->output(), "a plain cast");
}

bool canonicalizeAutocast(Graph&, PassContext& context) {
  return rewriteMatches(context, context.nodes(kCanonicalizeAutocast.needs), matchAutocast, rewriteAutocast);
}

}  // namespace

const Pass kCanonicalizeAutocast = {"canonicalize-autocast",
                                    "Writes the casts that autocast put into a file as plain casts.",
                                    &canonicalizeAutocast,
                                    {"aten::_autocast_to_full_precision", "aten::_autocast_to_reduced_precision"}};

}  // namespace ipex_studio
