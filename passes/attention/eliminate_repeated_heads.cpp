// Lets groups of heads read the keys and values that they share, instead of copies of them for each head.
//   before  %k = reshape(expand(unsqueeze(%k0, 2), [N,G,r,T,D]), [N,H,T,D])   %v likewise
//           %y = ipex_studio::attention(%q [N,H,S,D], %k, %v, %mask, spec)
//   after   %p = reshape(%q, [N,G,r,S,D])   %k1 = unsqueeze(%k0, 2)   %v1 = unsqueeze(%v0, 2)
//           %z = ipex_studio::attention(%p, %k1, %v1, %mask, spec)   %y = flatten(%z, 1, 2)
// Batch dimensions broadcast. The copies also come from repeat_interleave, which canonicalize-views writes so.
// Declines: unknown-shape, shape-mismatch (keys and values in different groups), unsupported-attribute (a mask of three
// axes), value-may-be-aliased-or-written. Runs after fuse-attention. Numerics: exact. arXiv 2305.13245.
#include "core/graph/node_facts.h"
#include "core/graph/rewrite_matches.h"
#include "passes/match/node_writer.h"
#include "passes/pass_list.h"

namespace ipex_studio {
namespace {

using torch::jit::Node;
using torch::jit::Value;

// x[N,G,T,D] of which `heads` holds each of the G heads `each` times, one behind the other.
struct Repeated {
  Value* x = nullptr;
  std::int64_t groups = 0, each = 0;
  std::vector<Node*> nodes;  // innermost first
};

std::optional<Repeated> readRepeated(Value* heads) {
  Node* const joined = heads->node();
  if (!isKind(joined, "aten::reshape") && !isKind(joined, "aten::flatten")) return std::nullopt;
  Node* const expand = joined->input(0)->node();
  if (!isKind(expand, "aten::expand")) return std::nullopt;
  Node* const apart = expand->input(0)->node();
  if (!isKind(apart, "aten::unsqueeze")) return std::nullopt;
  Value* const x = apart->input(0);
  const auto from = knownSizes(x), spread = knownSizes(expand->output()), to = knownSizes(heads);
  if (!from || !spread || !to || from->size() != 4 || spread->size() != 5 || to->size() != 4) return std::nullopt;
  const auto axis = constantInt(apart->input(1));
  if (axis != 2 && axis != -3) return std::nullopt;
  const std::int64_t groups = (*from)[1], each = (*spread)[2];
  const std::vector<std::int64_t> wide{(*from)[0], groups, each, (*from)[2], (*from)[3]},
      whole{(*from)[0], groups * each, (*from)[2], (*from)[3]};
  if (*spread != wide || *to != whole || each < 2) return std::nullopt;
  return Repeated{x, groups, each, {apart, expand, joined}};
}

struct GroupedMatch {
  Repeated keys, values;
  OpSpec spec;
};

std::optional<GroupedMatch> matchGroups(PassContext& context, Node* node, Decline* why) {
  if (!isKind(node, "ipex_studio::attention")) return std::nullopt;
  const auto keys = readRepeated(node->input(1)), values = readRepeated(node->input(2));
  const auto text = torch::jit::constant_as<std::string>(node->input(4));
  if (!keys || !values || !text) return std::nullopt;
  const auto q = knownSizes(node->input(0)), result = knownSizes(node->output());
  if (!q || !result || !knownDtype(node->input(0))) {
    *why = {reasons::kUnknownShape, "The sizes of the queries are not known."};
  } else if (q->size() != 4 || (*q)[1] != keys->groups * keys->each || keys->groups != values->groups ||
             (*q)[0] != knownSizes(keys->x)->front()) {
    *why = {reasons::kShapeMismatch, "The heads are not a multiple of those of keys and values."};
  } else if (context.mayBeWritten(keys->x) || context.mayBeWritten(values->x)) {
    *why = {reasons::kAliased, "Keys or values may be written to."};
  } else if (!isNone(node->input(3))) {
    const auto mask = knownSizes(node->input(3));
    if (!mask || !knownDtype(node->input(3)))
      *why = {reasons::kUnknownShape, "The sizes or the type of the mask are not known."};
    else if (mask->size() == 3 || mask->size() > 4)
      *why = {reasons::kUnsupportedAttribute, "The mask has no axis of its own for texts."};
  }
  return GroupedMatch{*keys, *values, parseOpSpec(*text)};
}

// x[N,H,…] as [N,G,H/G,…]; the length may be another one in other runs.
Value* inGroups(NodeWriter& write, Value* x, const Repeated& keys) {
  const std::vector<std::int64_t> sizes = *knownSizes(x);
  Value* const shape = write.list(
      {write.size(x, 0), write.number(keys.groups), write.number(keys.each), write.size(x, 2), write.size(x, 3)});
  return write.make("aten::reshape", {x, shape}, {sizes[0], keys.groups, keys.each, sizes[2], sizes[3]});
}

Value* spread(NodeWriter& write, Value* x, std::size_t axis) {
  std::vector<std::int64_t> sizes = *knownSizes(x);
  sizes.insert(sizes.begin() + static_cast<std::ptrdiff_t>(axis), 1);
  return write.make("aten::unsqueeze", {x, write.number(static_cast<std::int64_t>(axis))}, sizes);
}

void rewriteGroups(Rewriter& rewriter, Node* node, const GroupedMatch& match) {
  const std::vector<std::int64_t> result = *knownSizes(node->output());
  NodeWriter write(rewriter, node);
  Value* mask = node->input(3);
  if (!isNone(mask) && knownSizes(mask)->size() == 4) {
    NodeWriter of_mask(rewriter, node, knownDtype(mask));
    mask = (*knownSizes(mask))[1] == 1 ? spread(of_mask, mask, 1) : inGroups(of_mask, mask, match.keys);
  }
  // Queries that are read in front of the heads are read in front of both axes of these.
  OpSpec spec = match.spec;
  if (spec.has("heads_last")) spec.attributes["heads_last"] = std::int64_t{2};
  Value* const attended = write.make("ipex_studio::attention",
                                     {inGroups(write, node->input(0), match.keys), spread(write, match.keys.x, 2),
                                      spread(write, match.values.x, 2), mask, rewriter.constant(spec.text(), node)},
                                     {result[0], match.keys.groups, match.keys.each, result[2], result[3]});
  std::vector<Node*> consumed = match.keys.nodes;
  consumed.insert(consumed.end(), match.values.nodes.begin(), match.values.nodes.end());
  consumed.push_back(node);
  rewriter.replace(consumed, node->output(), write.flatten(attended, 1), "attention reads shared heads without copies");
}

bool eliminateRepeatedHeads(torch::jit::Graph&, PassContext& context) {
  return rewriteMatches(context, context.nodes(kEliminateRepeatedHeads.needs), matchGroups, rewriteGroups);
}

}  // namespace

const Pass kEliminateRepeatedHeads = {"eliminate-repeated-heads",
                                      "Lets attention read shared heads of keys and values without copies.",
                                      &eliminateRepeatedHeads,
                                      {"ipex_studio::attention"}};

}  // namespace ipex_studio
