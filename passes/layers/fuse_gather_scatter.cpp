// Fuses the messages of a graph network: rows picked where edges begin, weighed, and summed where edges end.
//   before  %m = index_select(%x, 0, %from)   %v = mul(%m, %weights)
//           %i = expand(unsqueeze(%to, 1), sizes)   %y = scatter_add(zeros(…), 0, %i, %v)
//   after   %y = ipex_studio::gather_scatter(zeros(…), %to, %x, %from, %weights, "gather_scatter{reduction=add,…}")
// Also index_add and scatter_reduce, x[%from], and messages without weights or, for means and extremes, without a
// choice of rows. Weights are one for each edge, or one for each edge and each of the first axes behind (heads of
// attention).
// Declines: other-uses (messages or zeros are read elsewhere), unsupported-dtype, value-may-be-aliased-or-written,
// control-flow. Runs before fuse-pointwise, which would take the product with the weights. Numerics: messages are not
// rounded before they are added, in the same order.
#include <algorithm>

#include "core/graph/node_facts.h"
#include "core/graph/rewrite_matches.h"
#include "passes/match/post_op_fusion.h"
#include "passes/pass_list.h"

namespace ipex_studio {

using torch::jit::Node;
using torch::jit::Value;

namespace {

struct GatherScatterMatch {
  Value *like = nullptr, *to = nullptr, *x = nullptr;
  Value *from = nullptr, *weights = nullptr;  // may be null
  std::vector<Node*> inner;                   // the choice of rows and the product, in their order
  std::vector<Node*> sizes;                   // aten::size of what these give
  OpSpec spec;
};

bool isEdgeIndex(const Value* value) {
  const auto dtype = knownDtype(value);
  const auto sizes = knownSizes(value);
  return (dtype == at::kLong || dtype == at::kInt) && sizes && sizes->size() == 1;
}

// Zeros that only their reader can see.
bool isZeros(const Value* value) {
  const Node* node = value->node();
  if (isKind(node, "aten::zeros") || isKind(node, "aten::new_zeros") || isKind(node, "aten::zeros_like")) return true;
  const auto constant = constantTensor(value);
  return constant && !constant->count_nonzero().item<std::int64_t>();
}

// The index of one axis that an index of the messages' sizes repeats along all other axes; null for others.
Value* repeatedIndex(Value* index) {
  if (isEdgeIndex(index)) return index;
  if (isKind(index->node(), "aten::expand") || isKind(index->node(), "aten::expand_as"))
    index = index->node()->input(0);
  while (!isEdgeIndex(index)) {
    const auto sizes = knownSizes(index);
    if (!sizes || !std::all_of(sizes->begin() + (sizes->empty() ? 0 : 1), sizes->end(), [](auto n) { return n == 1; }))
      return nullptr;
    Node* const node = index->node();
    const bool views = isKind(node, "aten::view") || isKind(node, "aten::reshape") || isKind(node, "aten::unsqueeze");
    if (!views) return nullptr;
    index = node->input(0);
  }
  return index;
}

// "add", "mean", "max" or "min"; empty for other operators and reductions.
std::string reductionOf(const Node* node) {
  if (isKind(node, "aten::scatter_add")) return "add";
  if (isKind(node, "aten::index_add")) return constantNumber(node->input(4)) == 1.0 ? "add" : "";
  const bool reduces = isKind(node, "aten::scatter_reduce") || isKind(node, "aten::scatter_reduce_");
  if (!reduces || node->inputs().size() != 6) return "";
  const auto word = torch::jit::toIValue(node->input(4));
  if (!word || !word->isString()) return "";
  if (word->toStringRef() == "sum") return "add";
  // Extremes and means that count the zeros are others.
  if (constantBool(node->input(5)) != false) return "";
  if (word->toStringRef() == "mean") return "mean";
  return word->toStringRef() == "amax" ? "max" : word->toStringRef() == "amin" ? "min" : "";
}

// True if `weights` are one for each row of the messages and for each of their first axes.
bool weighsMessages(const Value* weights, const std::vector<std::int64_t>& messages) {
  const auto sizes = knownSizes(weights);
  if (!sizes || sizes->size() != messages.size() || (*sizes)[0] != messages[0]) return false;
  std::size_t axis = 1;
  while (axis < sizes->size() && (*sizes)[axis] == messages[axis]) ++axis;
  while (axis < sizes->size() && (*sizes)[axis] == 1) ++axis;
  return axis == sizes->size();
}

// Stores what a choice of rows picks; false for other nodes.
bool readGather(Value* messages, GatherScatterMatch* match) {
  Node* const node = messages->node();
  if (isKind(node, "aten::index_select") && constantInt(node->input(1)) == 0 && isEdgeIndex(node->input(2))) {
    match->from = node->input(2);
  } else if (isKind(node, "aten::index")) {
    const auto list = decidedElements(node->input(1));
    if (!list || list->size() != 1 || isNone((*list)[0]) || !isEdgeIndex((*list)[0])) return false;
    match->from = node->input(1)->node()->input(0);
    match->spec.attributes["wrap"] = std::int64_t{1};
  } else {
    return false;
  }
  match->x = node->input(0);
  match->inner.push_back(node);
  return true;
}

// Stores rows, weights and the nodes between from what is scattered; false if nothing there can be fused.
bool readMessages(Value* messages, const std::vector<std::int64_t>& sizes, GatherScatterMatch* match) {
  if (readGather(messages, match)) return true;
  Node* const product = messages->node();
  if (!isKind(product, "aten::mul") || product->inputs().size() != 2) return false;
  for (const std::size_t side : {0, 1}) {
    Value *const rows = product->input(side), *const weights = product->input(1 - side);
    if (knownSizes(rows) != sizes || !weighsMessages(weights, sizes) || !readGather(rows, match)) continue;
    match->inner.push_back(product);
    match->weights = weights;
    return true;
  }
  return false;
}

// Stores the readers of messages that ask for sizes alone; false if others than the match's own nodes read them.
bool readReaders(GatherScatterMatch* match, const Node* scatter) {
  for (Node* node : match->inner) {
    for (const auto& use : node->output()->uses()) {
      Node* const user = use.user;
      const bool inside = user == scatter || std::count(match->inner.begin(), match->inner.end(), user) > 0;
      const bool makes_zeros = user == match->like->node() && isKind(user, "aten::new_zeros");
      if (inside || makes_zeros) continue;
      if (!isKind(user, "aten::size") || user->inputs().size() != 2 || !constantInt(user->input(1))) return false;
      match->sizes.push_back(user);
    }
  }
  return true;
}

Decline whyNot(PassContext& context, GatherScatterMatch& match, Node* scatter) {
  const auto isFloat = [](const Value* value) { return value == nullptr || isFloat32(value); };
  if (!isFloat(match.like) || !isFloat(match.x) || !isFloat(match.weights)) {
    return {reasons::kUnsupportedDtype, "The messages are not known to be float32."};
  }
  const bool constant = constantTensor(match.like).has_value();
  if (!readReaders(&match, scatter) || (!constant && !usedOnlyBy(match.like, scatter))) {
    return {reasons::kOtherUses, "The messages, or the zeros that they are added to, are read elsewhere."};
  }
  const auto isElsewhere = [&](const Node* node) { return node->owningBlock() != scatter->owningBlock(); };
  if (std::any_of(match.inner.begin(), match.inner.end(), isElsewhere)) {
    return {reasons::kControlFlow, "The messages are computed in another block."};
  }
  const auto isWritten = [&](Value* value) { return value != nullptr && context.mayBeWritten(value); };
  if ((constant && isWritten(match.like)) || isWritten(match.x) || isWritten(match.weights) || isWritten(match.from) ||
      isWritten(match.to)) {
    return {reasons::kAliased, "What the messages are made of may be written to."};
  }
  return {};
}

std::optional<GatherScatterMatch> matchGatherScatter(PassContext& context, Node* scatter, Decline* why) {
  const std::string reduction = reductionOf(scatter);
  if (reduction.empty() || constantInt(scatter->input(1)) != 0 || !isZeros(scatter->input(0))) return std::nullopt;
  // In place, a constant keeps what is written.
  if (isKind(scatter, "aten::scatter_reduce_") && constantTensor(scatter->input(0))) return std::nullopt;
  GatherScatterMatch match;
  match.like = scatter->input(0);
  Value *const index = scatter->input(2), *const messages = scatter->input(3);
  const auto rows = knownSizes(match.like), sizes = knownSizes(messages), index_sizes = knownSizes(index);
  if (!rows || !sizes || !index_sizes || sizes->empty() || rows->size() != sizes->size()) return std::nullopt;
  if (!std::equal(rows->begin() + 1, rows->end(), sizes->begin() + 1)) return std::nullopt;
  if (!isKind(scatter, "aten::index_add") && *index_sizes != *sizes) return std::nullopt;
  match.to = repeatedIndex(index);
  if (match.to == nullptr || *knownSizes(match.to) != std::vector<std::int64_t>{(*sizes)[0]}) return std::nullopt;
  match.spec.kind = OpKind::kGatherScatter;
  match.spec.attributes["reduction"] = reduction;
  match.spec.attributes["rank"] = static_cast<std::int64_t>(sizes->size());
  if (!readMessages(messages, *sizes, &match)) {
    if (reduction == "add" && !isKind(scatter, "aten::scatter_reduce_")) return std::nullopt;
    match.x = messages;
  }
  *why = whyNot(context, match, scatter);
  return match;
}

// The size that `node` asks for, of what the messages are made of.
Value* sizeOfSource(Rewriter& rewriter, Node* node, const GatherScatterMatch& match) {
  const std::int64_t rank = match.spec.intOr("rank", 0), given = *constantInt(node->input(1));
  const bool of_edges = given == 0 || given == -rank;
  Value* axis = of_edges ? rewriter.constant(std::int64_t{0}, node) : node->input(1);
  Value* size = rewriter.create("aten::size", {of_edges ? match.from : match.x, axis}, node)->output();
  size->setType(c10::IntType::get());
  return size;
}

// The zeros, made without the messages.
Value* zerosOf(Rewriter& rewriter, Node* scatter, const GatherScatterMatch& match) {
  Node* const node = match.like->node();
  if (match.inner.empty() || !isKind(node, "aten::new_zeros")) return match.like;
  std::vector<Value*> inputs = node->inputs().vec();
  inputs[0] = match.x;
  Value* zeros = rewriter.create("aten::new_zeros", inputs, scatter)->output();
  zeros->setType(match.like->type());
  return zeros;
}

void rewriteGatherScatter(Rewriter& rewriter, Node* scatter, const GatherScatterMatch& match) {
  const auto orNone = [&](Value* value) { return value != nullptr ? value : rewriter.none(scatter); };
  std::vector<Value*> from, to;
  for (Node* node : match.sizes) {
    from.push_back(node->output());
    to.push_back(sizeOfSource(rewriter, node, match));
  }
  Value* spec = rewriter.constant(match.spec.text(), scatter);
  Node* fused = rewriter.create(
      "ipex_studio::gather_scatter",
      {zerosOf(rewriter, scatter, match), match.to, match.x, orNone(match.from), orNone(match.weights), spec}, scatter);
  from.push_back(scatter->output());
  to.push_back(fused->output());
  std::vector<Node*> consumed = match.inner;
  consumed.insert(consumed.end(), match.sizes.begin(), match.sizes.end());
  if (match.like != fused->input(0)) consumed.push_back(match.like->node());
  consumed.push_back(scatter);
  rewriter.replaceAll(consumed, from, to, "fused what edges carry with the sums of it");
}

bool fuseGatherScatter(torch::jit::Graph&, PassContext& context) {
  return rewriteMatches(context, context.nodes(kFuseGatherScatter.needs), matchGatherScatter, rewriteGatherScatter);
}

}  // namespace

const Pass kFuseGatherScatter = {
    "fuse-gather-scatter",
    "Fuses the choice of rows at one end of edges with the sums, means or extremes at the other (graph networks).",
    &fuseGatherScatter,
    {"aten::scatter_add", "aten::index_add", "aten::scatter_reduce", "aten::scatter_reduce_"}};

}  // namespace ipex_studio
