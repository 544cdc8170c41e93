// Makes one operation of a rotary position embedding, with all of its pairs' products and sums.
//   before  %a = slice(%x, -1, 0, h)   %b = slice(%x, -1, h, …)   %t = cat([neg(%b), %a], -1)
//           %y = add(mul(%x, %cos), mul(%t, %sin))
//   after   %y = ipex_studio::rotary(%x, %cos, %sin, "rotary{rotated=R}")
// Also with pairs of neighbours, flatten(stack([neg(%b), %a], -1), -2) of %x[…, 0::2] and %x[…, 1::2]
// (interleaved=1); with both halves written out, cat([%a·%c - %b·%s, %b·%c + %a·%s], -1), or the same stacked, whose
// tables hold one angle for each pair (half=1); as a product of complex numbers,
// flatten(view_as_real(mul(view_as_complex(%x), %angles)), -2); and where only the first values of each row are rotated
// and the others stand behind them: cat([rotary(slice(%x, -1, 0, R)), slice(%x, -1, R, …)], -1).
// Declines: producer-has-other-uses, unsupported-dtype, unknown-shape, operand-broadcasts-result (tables),
// value-may-be-aliased-or-written. Runs before fuse-pointwise, which would take the products. Numerics: the sum is
// rounded once less. Rotary embedding: arXiv 2104.09864.
#include <algorithm>

#include "core/graph/node_facts.h"
#include "core/graph/rewrite_matches.h"
#include "passes/match/algebra.h"
#include "passes/match/node_writer.h"
#include "passes/match/pieces.h"
#include "passes/match/post_op_fusion.h"
#include "passes/pass_list.h"

namespace ipex_studio {

using torch::jit::Node;
using torch::jit::Value;

namespace {

// The first and second values of all pairs are two pieces of the first `rotated` values of x's rows.
struct Pairs {
  Value* x = nullptr;
  std::int64_t rotated = 0;
  bool interleaved = false;
};

struct RotaryMatch {
  Pairs pairs;
  Value *cosines = nullptr, *sines = nullptr;
  Value* angles = nullptr;   // complex numbers in their place
  bool half = false;         // tables have one angle for each pair
  std::vector<Node*> nodes;  // outermost first
};

bool isLastAxis(const Value* axis, const Value* of) {
  const auto sizes = knownSizes(of);
  return sizes && readAxis(axis, of) == static_cast<std::int64_t>(sizes->size()) - 1;
}

// True for `half` as a number, or as half the size of x's last axis.
bool isHalf(const Value* bound, const Value* x, std::int64_t half) {
  if (const auto number = constantInt(bound)) return *number == half;
  const Node* const quotient = bound->node();
  if (!isKind(quotient, "aten::floordiv") || constantInt(quotient->input(1)) != 2) return false;
  const Node* const size = quotient->input(0)->node();
  return isKind(size, "aten::size") && size->inputs().size() == 2 && size->input(0) == x &&
         isLastAxis(size->input(1), x);
}

// Two slices of one tensor along its last axis: every second value, or two neighbouring halves.
std::optional<Pairs> readSlicedPairs(const Node* first, const Node* second) {
  for (const Node* slice : {first, second}) {
    if (!isKind(slice, "aten::slice") || slice->inputs().size() != 5 || !isLastAxis(slice->input(1), slice->input(0)))
      return std::nullopt;
  }
  Value* const x = first->input(0);
  if (second->input(0) != x) return std::nullopt;
  const std::int64_t width = knownSizes(x)->back();
  const auto step = constantInt(first->input(4)), begin = sliceBound(first->input(2), 0);
  if (step != constantInt(second->input(4)) || begin != 0) return std::nullopt;
  if (step == 2) {
    const auto goesToTheEnd = [&](const Node* slice) { return sliceBound(slice->input(3), INT64_MAX) >= width; };
    const bool all = sliceBound(second->input(2), 0) == 1 && goesToTheEnd(first) && goesToTheEnd(second);
    return all ? std::optional<Pairs>({x, width, true}) : std::nullopt;
  }
  const auto half = knownSizes(first->output());
  if (step != 1 || !half) return std::nullopt;
  const std::int64_t pairs = half->back();
  if (!isHalf(first->input(3), x, pairs) || !isHalf(second->input(2), x, pairs)) return std::nullopt;
  const auto end = sliceBound(second->input(3), INT64_MAX);
  if (!end) return std::nullopt;
  return Pairs{x, std::min(*end, width), false};
}

std::optional<Pairs> readPairs(Value* first, Value* second) {
  std::optional<Pairs> pairs = readSlicedPairs(first->node(), second->node());
  if (!pairs) {
    const auto pieces = readPieces({first, second});
    if (!pieces || !pieces->whole() || pieces->removes_axis) return std::nullopt;
    const auto sizes = knownSizes(pieces->source);
    if (!sizes || pieces->axis != static_cast<std::int64_t>(sizes->size()) - 1) return std::nullopt;
    pairs = Pairs{pieces->source, sizes->back(), false};
  }
  const auto a = knownSizes(first), b = knownSizes(second);
  const bool even = a && a == b && 2 * a->back() == pairs->rotated && pairs->rotated > 0;
  return even ? pairs : std::nullopt;
}

// Values side by side in each row: halves behind each other, or neighbours.
struct Joined {
  std::vector<Value*> values;
  bool interleaved = false;
  std::vector<Node*> nodes;
};

std::optional<Joined> readJoined(Node* node) {
  Joined joined;
  joined.nodes = {node};
  if (isKind(node, "aten::flatten")) {
    const auto sizes = knownSizes(node->input(0));
    if (!sizes || sizes->size() < 2) return std::nullopt;
    const auto rank = static_cast<std::int64_t>(sizes->size());
    if (readAxis(node->input(1), node->input(0)) != rank - 2 || readAxis(node->input(2), node->input(0)) != rank - 1)
      return std::nullopt;
    Node* const stack = node->input(0)->node();
    const auto axis = isKind(stack, "aten::stack") ? constantInt(stack->input(1)) : std::nullopt;
    if (axis != -1 && axis != rank - 1) return std::nullopt;
    joined.values = joinedValues(stack);
    joined.interleaved = true;
    joined.nodes.push_back(stack);
  } else if (isKind(node, "aten::cat") && isLastAxis(node->input(1), node->output())) {
    joined.values = joinedValues(node);
  }
  if (joined.values.size() < 2) return std::nullopt;
  joined.nodes.push_back(joined.nodes.back()->input(0)->node());  // their list
  return joined;
}

bool isProduct(const Node* node) { return isKind(node, "aten::mul") && node->inputs().size() == 2; }

// The other factor of a product with `factor`; null for others.
Value* otherFactor(const Value* product, const Value* factor) {
  Node* const node = const_cast<Node*>(product->node());
  if (!isProduct(node)) return nullptr;
  return node->input(0) == factor ? node->input(1) : node->input(1) == factor ? node->input(0) : nullptr;
}

// The sum or difference of two tensors, without a factor.
bool isPlain(const Node* node, const char* kind) {
  return isKind(node, kind) && node->inputs().size() == 3 && constantNumber(node->input(2)) == 1.0;
}

// Stores the pairs that `turned` holds as (-second, first).
bool readTurned(Value* turned, RotaryMatch* match) {
  const auto joined = readJoined(turned->node());
  if (!joined || joined->values.size() != 2) return false;
  Node* const minus = joined->values[0]->node();
  if (!isKind(minus, "aten::neg")) return false;
  const auto pairs = readPairs(joined->values[1], minus->input(0));
  if (!pairs || pairs->interleaved != joined->interleaved || pairs->rotated != knownSizes(pairs->x)->back())
    return false;
  match->pairs = *pairs;
  match->nodes.insert(match->nodes.end(), joined->nodes.begin(), joined->nodes.end());
  match->nodes.push_back(minus);
  return true;
}

// x·cos + turned·sin
std::optional<RotaryMatch> readSumOfTables(Node* sum) {
  if (!isPlain(sum, "aten::add")) return std::nullopt;
  for (const std::size_t side : {0, 1}) {
    Value *const plain = sum->input(1 - side), *const product = sum->input(side);
    if (!isProduct(product->node()) || !isProduct(plain->node())) continue;
    for (const std::size_t factor : {0, 1}) {
      RotaryMatch match;
      match.nodes = {sum, product->node(), plain->node()};
      if (!readTurned(product->node()->input(factor), &match)) continue;
      match.sines = product->node()->input(1 - factor);
      match.cosines = otherFactor(plain, match.pairs.x);
      if (match.cosines != nullptr) return match;
    }
  }
  return std::nullopt;
}

// The factors of a product as (piece, table) in both orders.
using Factors = std::vector<std::pair<Value*, Value*>>;
Factors factorsOf(const Value* product) {
  Node* const node = const_cast<Node*>(product->node());
  if (!isProduct(node)) return {};
  return {{node->input(0), node->input(1)}, {node->input(1), node->input(0)}};
}

// first·cos - second·sin beside second·cos + first·sin
std::optional<RotaryMatch> readHalvesWrittenOut(Node* root) {
  const auto joined = readJoined(root);
  if (!joined || joined->values.size() > 3) return std::nullopt;
  Node *const difference = joined->values[0]->node(), *const sum = joined->values[1]->node();
  if (!isPlain(difference, "aten::sub") || !isPlain(sum, "aten::add")) return std::nullopt;
  for (const auto& [first, cosines] : factorsOf(difference->input(0))) {
    for (const auto& [second, sines] : factorsOf(difference->input(1))) {
      const auto pairs = readPairs(first, second);
      if (!pairs || pairs->interleaved != joined->interleaved) continue;
      bool fits = false;
      for (const std::size_t side : {0, 1}) {
        fits = fits ||
               (otherFactor(sum->input(side), second) == cosines && otherFactor(sum->input(1 - side), first) == sines);
      }
      if (!fits) continue;
      const std::int64_t width = knownSizes(pairs->x)->back();
      if (joined->values.size() == 3) {
        // The values that are not rotated.
        const auto rest = readPieces({joined->values[2]});
        const bool behind = rest && rest->source == pairs->x && rest->begin == pairs->rotated && rest->end >= width &&
                            isKind(joined->values[2]->node(), "aten::slice") &&
                            isLastAxis(joined->values[2]->node()->input(1), pairs->x);
        if (!behind || joined->interleaved) continue;
      } else if (pairs->rotated != width) {
        continue;
      }
      RotaryMatch match{*pairs, cosines, sines, nullptr, true, joined->nodes};
      for (Node* node : {difference, sum}) {
        match.nodes.push_back(node);
        for (const std::size_t side : {0, 1}) match.nodes.push_back(node->input(side)->node());
      }
      return match;
    }
  }
  return std::nullopt;
}

// A product of complex numbers, whose parts are neighbours.
std::optional<RotaryMatch> readComplex(Node* root) {
  if (!isKind(root, "aten::flatten")) return std::nullopt;
  Node* const parts = root->input(0)->node();
  const auto sizes = knownSizes(root->input(0)), whole = knownSizes(root->output());
  if (!isKind(parts, "aten::view_as_real") || !isProduct(parts->input(0)->node()) || !sizes || !whole ||
      sizes->size() != whole->size() + 1)
    return std::nullopt;
  Node* const product = parts->input(0)->node();
  for (const auto& [x, angles] : factorsOf(parts->input(0))) {
    Node* const complex = x->node();
    if (!isKind(complex, "aten::view_as_complex") || knownSizes(complex->input(0)) != sizes) continue;
    RotaryMatch match;
    match.pairs = {complex->input(0), whole->back(), true};
    match.angles = angles;
    match.half = true;
    match.nodes = {root, parts, product, complex};
    return match;
  }
  return std::nullopt;
}

Decline whyNot(PassContext& context, const RotaryMatch& match) {
  if (!onlyReadInside(match.nodes, match.nodes.front()))
    return {reasons::kOtherUses, "Products or pairs of this rotary embedding are read elsewhere."};
  std::vector<Value*> tables{match.cosines, match.sines};
  if (match.angles != nullptr) tables = {match.angles};
  const bool floats = match.angles != nullptr
                          ? knownDtype(match.angles) == at::kComplexFloat
                          : isFloat32(match.cosines) && isFloat32(match.sines) && knownDtype(match.sines) == at::kFloat;
  if (!floats || knownDtype(match.pairs.x) != at::kFloat)
    return {reasons::kUnsupportedDtype, "What is rotated, or the angles, are not known to be float32."};
  const auto x = knownSizes(match.pairs.x), result = knownSizes(match.nodes.front()->output());
  const auto table = knownSizes(tables.front());
  if (!x || !table || !result || knownSizes(tables.back()) != table)
    return {reasons::kUnknownShape, "The sizes of what is rotated, or of the angles, are not known or differ."};
  std::vector<std::int64_t> rows = *result, angles = *table;
  const std::int64_t columns = match.half ? match.pairs.rotated / 2 : match.pairs.rotated;
  if (angles.empty() || angles.back() != columns)
    return {reasons::kBroadcast, "The tables of angles have other columns."};
  rows.pop_back();
  angles.pop_back();
  if (!broadcastsTo(angles, rows)) return {reasons::kBroadcast, "The tables of angles enlarge what is rotated."};
  if (match.angles == nullptr && *result != *x) return {reasons::kBroadcast, "The rotated rows have other sizes."};
  for (Value* operand : {match.pairs.x, tables.front(), tables.back()}) {
    if (context.mayBeWritten(operand)) return {reasons::kAliased, "What is rotated, or the angles, may be written to."};
  }
  return {};
}

std::optional<RotaryMatch> matchRotary(PassContext& context, Node* node, Decline* why) {
  std::optional<RotaryMatch> match = readSumOfTables(node);
  if (!match) match = readHalvesWrittenOut(node);
  if (!match) match = readComplex(node);
  if (match) *why = whyNot(context, *match);
  return match;
}

void rewriteRotary(Rewriter& rewriter, Node* node, const RotaryMatch& match) {
  NodeWriter write(rewriter, node, at::kFloat);
  OpSpec spec;
  spec.kind = OpKind::kRotary;
  spec.attributes["rotated"] = match.pairs.rotated;
  if (match.pairs.interleaved) spec.attributes["interleaved"] = std::int64_t{1};
  if (match.half) spec.attributes["half"] = std::int64_t{1};
  const std::vector<std::int64_t> sizes = *knownSizes(node->output());
  Value *x = match.pairs.x, *cosines = match.cosines, *sines = match.sines;
  if (match.angles != nullptr) {
    std::vector<std::int64_t> table = *knownSizes(match.angles), parts = table;
    parts.push_back(2);
    Value* const both = write.make("aten::view_as_real", {match.angles}, parts);
    cosines = write.make("aten::select", {both, write.number(-1), write.number(0)}, table);
    sines = write.make("aten::select", {both, write.number(-1), write.number(1)}, table);
    x = write.make("aten::flatten", {x, write.number(-2), write.number(-1)}, sizes);
  }
  Value* const rotated =
      write.make("ipex_studio::rotary", {x, cosines, sines, rewriter.constant(spec.text(), node)}, sizes);
  std::vector<Node*> consumed(match.nodes.rbegin(), match.nodes.rend());
  std::sort(consumed.begin(), consumed.end(), [](const Node* a, const Node* b) { return a != b && a->isBefore(b); });
  consumed.erase(std::unique(consumed.begin(), consumed.end()), consumed.end());
  rewriter.replace(consumed, node->output(), rotated, "fused a rotary embedding");
}

// The rotated first values of rows, and the others behind them.
struct PartialMatch {
  Node* rotary = nullptr;
  Node* first = nullptr;  // the slice that it reads
  OpSpec spec;
};

std::optional<PartialMatch> matchPartial(PassContext& context, Node* cat, Decline* why) {
  if (!isKind(cat, "aten::cat") || !isLastAxis(cat->input(1), cat->output())) return std::nullopt;
  const std::vector<Value*> values = joinedValues(cat);
  if (values.size() != 2) return std::nullopt;
  PartialMatch match;
  match.rotary = values[0]->node();
  if (!isKind(match.rotary, "ipex_studio::rotary")) return std::nullopt;
  match.first = match.rotary->input(0)->node();
  const auto pieces = readPieces({match.rotary->input(0), values[1]});
  const auto text = torch::jit::constant_as<std::string>(match.rotary->input(3));
  if (!pieces || !pieces->whole() || !isKind(match.first, "aten::slice") || !text) return std::nullopt;
  if (!isLastAxis(match.first->input(1), match.first->input(0))) return std::nullopt;
  match.spec = parseOpSpec(*text);
  if (sliceBound(match.first->input(3), INT64_MAX) != match.spec.intOr("rotated", -1)) return std::nullopt;
  if (!usedOnlyBy(values[0], cat->input(0)->node()))
    *why = {reasons::kOtherUses, "The rotated values are read elsewhere."};
  else if (context.mayBeWritten(pieces->source))
    *why = {reasons::kAliased, "What is rotated may be written to."};
  return match;
}

void rewritePartial(Rewriter& rewriter, Node* cat, const PartialMatch& match) {
  NodeWriter write(rewriter, cat, at::kFloat);
  Node* const rotary = match.rotary;
  Value* const all =
      write.make("ipex_studio::rotary",
                 {match.first->input(0), rotary->input(1), rotary->input(2), rewriter.constant(match.spec.text(), cat)},
                 *knownSizes(cat->output()));
  rewriter.replace({rotary, cat}, cat->output(), all, "took the values that are not rotated along");
}

bool fuseRotary(torch::jit::Graph&, PassContext& context) {
  const bool fused =
      rewriteMatches(context, context.nodes({"aten::add", "aten::cat", "aten::flatten"}), matchRotary, rewriteRotary);
  return rewriteMatches(context, context.nodes({"aten::cat"}), matchPartial, rewritePartial) || fused;
}

}  // namespace

const Pass kFuseRotary = {"fuse-rotary",
                          "Makes one operation of a rotary position embedding.",
                          &fuseRotary,
                          {"aten::cat", "aten::stack", "aten::view_as_complex"}};

}  // namespace ipex_studio
