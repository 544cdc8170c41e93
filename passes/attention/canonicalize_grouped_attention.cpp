// Writes attention whose heads share keys and values in groups as attention over one more dimension.
//   before  %y = scaled_dot_product_attention(%q [N,H,S,D], %k [N,G,T,D], %v [N,G,T,E], %m, 0, %causal, %scale, True)
//   after   %p = reshape(%q, [N, G, H/G, S, D])   %k1 = unsqueeze(%k, 2)   %v1 = unsqueeze(%v, 2)
//           %z = scaled_dot_product_attention(%p, %k1, %v1, %m, 0, %causal, %scale, False)   %y = flatten(%z, 1, 2)
// so that no key or value is copied: batch dimensions broadcast. Declines: unknown-shape, shape-mismatch (other ranks,
// heads that are no multiple of the groups), unsupported-attribute (a mask with values of its own for heads or
// samples). Runs before what fuses attention. Numerics: exact. Grouped queries: arXiv 2305.13245.
#include "core/graph/node_facts.h"
#include "core/graph/rewrite_matches.h"
#include "passes/match/node_writer.h"
#include "passes/pass_list.h"

namespace ipex_studio {
namespace {

using torch::jit::Node;
using torch::jit::Value;

constexpr std::size_t kGrouped = 7;  // the argument

Decline whyNot(Node* node) {
  const auto q = knownSizes(node->input(0)), k = knownSizes(node->input(1)), v = knownSizes(node->input(2));
  if (!q || !k || !v || !knownSizes(node->output()) || !knownDtype(node->input(0))) {
    return {reasons::kUnknownShape, "The sizes of queries, keys or values are not known."};
  }
  const bool fits =
      q->size() == 4 && k->size() == 4 && v->size() == 4 && (*k)[1] == (*v)[1] && (*k)[1] > 0 && (*q)[1] % (*k)[1] == 0;
  if (!fits) return {reasons::kShapeMismatch, "The heads are not a multiple of those of keys and values."};
  if (isNone(node->input(3))) return {};
  const auto mask = knownSizes(node->input(3));
  if (!mask || !knownDtype(node->input(3)))
    return {reasons::kUnknownShape, "The sizes or the type of the mask are not known."};
  if (mask->size() > 2 && (mask->size() != 4 || (*mask)[1] != 1))
    return {reasons::kUnsupportedAttribute, "The mask has values of its own for each head."};
  return {};
}

bool matchGrouped(PassContext&, Node* node, Decline* why) {
  if (node->inputs().size() <= kGrouped || constantBool(node->input(kGrouped)) != true) return false;
  *why = whyNot(node);
  return true;
}

void rewriteGrouped(Rewriter& rewriter, Node* node) {
  Value *q = node->input(0), *k = node->input(1), *v = node->input(2), *mask = node->input(3);
  const std::vector<std::int64_t> heads = *knownSizes(q), result = *knownSizes(node->output());
  const std::int64_t groups = (*knownSizes(k))[1], each = heads[1] / groups;
  NodeWriter write(rewriter, node);
  const auto spread = [](NodeWriter& writer, Value* x) {
    std::vector<std::int64_t> sizes = *knownSizes(x);
    sizes.insert(sizes.begin() + 2, 1);
    return writer.make("aten::unsqueeze", {x, writer.number(2)}, sizes);
  };
  // -1: the length, whatever it is next time.
  Value* shape = write.list(
      {write.size(q, 0), write.number(groups), write.number(each), write.number(-1), write.number(heads[3])});
  Value* queries = write.make("aten::reshape", {q, shape}, {heads[0], groups, each, heads[2], heads[3]});
  if (!isNone(mask) && knownSizes(mask)->size() == 4) {
    NodeWriter of_mask(rewriter, node, knownDtype(mask));
    mask = spread(of_mask, mask);
  }
  Value* attended = write.make(
      "aten::scaled_dot_product_attention",
      {queries, spread(write, k), spread(write, v), mask, node->input(4), node->input(5), node->input(6), write.no()},
      {result[0], groups, each, result[2], result[3]});
  rewriter.replace({node}, node->output(), write.flatten(attended, 1), "written as attention over groups of heads");
}

bool canonicalizeGroupedAttention(torch::jit::Graph& graph, PassContext& context) {
  return rewriteMatches(context, context.nodes(kCanonicalizeGroupedAttention.needs), matchGrouped, rewriteGrouped);
}

}  // namespace

const Pass kCanonicalizeGroupedAttention = {"canonicalize-grouped-attention",
                                            "Writes attention in groups of heads without copies of keys and values.",
                                            &canonicalizeGroupedAttention,
                                            {"aten::scaled_dot_product_attention"}};

}  // namespace ipex_studio
