// Finds the places that a mask chooses once, and reads and writes rows there by plain indices, which regions compute.
//   before  %h : Float(9, 64) = index(%x, [%mask])   %o : Float(30, 64) = index_put(%x, [%mask], %v, False)
//   after   %places : Long(9) = select(nonzero(reshape(%mask, [size(%x, 0)])), 1, 0)
//           %h = index_select(%x, 0, %places)        %o = index_copy(%x, 0, %places, %v)
// The mask is asked at every call for the sizes of its axes of x, which places do not show. A mask of several axes and
// those axes of x become one, of the mask's size. index_put that adds becomes index_add; masked_scatter by an expanded
// mask of rows index_copy of the first rows of its source. Only nonzero is left between regions, and one of several for
// the same mask.
// Declines: unsupported-dtype (other than FP32; integers are read), shape-mismatch (rows that may be broadcast). Rows
// for which alone a mask is asked are read by it, which takes fewer calls between regions than its places and a region
// do. So are single elements, unless some are written by it, too.
// Runs after canonicalize-masked-update, which needs no places, and record-shapes; before fuse-gather-scatter and
// eliminate-common-subexpressions. Numerics: none.
#include <algorithm>
#include <string>
#include <unordered_set>

#include "core/graph/fused_op.h"
#include "core/graph/node_facts.h"
#include "core/graph/rewrite_matches.h"
#include "passes/match/mask_index.h"
#include "passes/match/node_writer.h"
#include "passes/pass_list.h"

namespace ipex_studio {
namespace {

using torch::jit::Node;
using torch::jit::Value;
using Ints = std::vector<std::int64_t>;

constexpr int kMaxFollowed = 64;  // nodes that keep sizes

enum class Use { kRead, kWrite, kAdd, kScatter };

struct PlacesMatch {
  Use use = Use::kRead;
  MaskIndex index;
  Value* rows = nullptr;    // what is written
  std::int64_t chosen = 0;  // by the mask in the example
};

// True if a write by the same mask needs its places.
bool isWrittenBy(const Value* mask) {
  return std::any_of(mask->uses().begin(), mask->uses().end(), [](const torch::jit::Use& use) {
    if (use.user->kind() != c10::prim::ListConstruct) return false;
    const auto& readers = use.user->output()->uses();
    return std::any_of(readers.begin(), readers.end(), [](const torch::jit::Use& reader) {
      return reader.user->kind() == torch::jit::aten::index_put;
    });
  });
}

// Nodes that read or write by the mask as an index.
std::size_t indexedBy(const Value* mask) {
  std::size_t count = 0;
  for (const torch::jit::Use& use : mask->uses()) {
    if (use.user->kind() == c10::prim::ListConstruct) count += use.user->output()->uses().size();
  }
  return count;
}

// True if the places of the mask are asked for otherwise, or were by a rewrite before.
bool hasPlaces(const Value* mask) {
  return std::any_of(mask->uses().begin(), mask->uses().end(), [](const torch::jit::Use& use) {
    const Node* reader = use.user;
    if (reader->kind() == torch::jit::aten::nonzero) return true;
    const bool is_view = reader->kind() == torch::jit::aten::reshape || reader->kind() == torch::jit::aten::expand ||
                         reader->kind() == torch::jit::aten::unsqueeze || reader->kind() == torch::jit::aten::expand_as;
    if (reader->kind() == torch::jit::aten::masked_scatter) return use.offset == 1;
    return is_view && use.offset == 0 && hasPlaces(reader->output());
  });
}

std::optional<PlacesMatch> matchIndex(Node* node) {
  const auto index = readMaskIndex(node);
  const auto result = knownSizes(node->output());
  const auto dtype = knownDtype(node->input(0));
  if (!index || !result || result->size() != index->axis + 1 + index->inner) return std::nullopt;
  if (dtype != at::kFloat && dtype != at::kLong) return std::nullopt;
  if (index->inner == 0 ? !isWrittenBy(index->mask) : indexedBy(index->mask) < 2 && !hasPlaces(index->mask))
    return std::nullopt;
  return PlacesMatch{Use::kRead, *index, nullptr, (*result)[index->axis]};
}

std::optional<PlacesMatch> matchIndexPut(Node* node, Decline* why) {
  const auto index = readMaskIndex(node);
  const auto adds = constantBool(node->input(3));
  if (!index || !adds) return std::nullopt;
  Value *x = node->input(0), *rows = node->input(2);
  if (knownDtype(x) != at::kFloat || knownDtype(rows) != at::kFloat) {
    *why = {reasons::kUnsupportedDtype, "What is written by the mask is not FP32."};
  } else if (!holdsMaskedRows(rows, x, *index)) {
    *why = {reasons::kShapeMismatch, "Rows written by the mask may be broadcast."};
  }
  if (*why) return std::nullopt;
  return PlacesMatch{*adds ? Use::kAdd : Use::kWrite, *index, rows, (*knownSizes(rows))[index->axis]};
}

// aten::masked_scatter(x, mask, source), the mask an expansion of one with a last axis of 1
std::optional<PlacesMatch> matchMaskedScatter(Node* node, Decline* why) {
  Value *x = node->input(0), *source = node->input(2);
  const Node* expand = node->input(1)->node();
  if (expand->kind() != torch::jit::aten::expand && expand->kind() != torch::jit::aten::expand_as) return std::nullopt;
  Node* unsqueeze = expand->input(0)->node();
  const auto sizes = knownSizes(x), rows = knownSizes(source);
  if (unsqueeze->kind() != torch::jit::aten::unsqueeze || !sizes || !rows) return std::nullopt;
  Value* mask = unsqueeze->input(0);
  const auto chosen = knownSizes(mask);
  const auto at = constantInt(unsqueeze->input(1));
  const bool is_rows = chosen && knownDtype(mask) == at::kBool && !chosen->empty() && at &&
                       (*at == -1 || *at == static_cast<std::int64_t>(chosen->size())) &&
                       chosen->size() + 1 == sizes->size() && knownSizes(node->input(1)) == sizes &&
                       std::equal(chosen->begin(), chosen->end(), sizes->begin());
  if (!is_rows) return std::nullopt;
  if (knownDtype(x) != at::kFloat || knownDtype(source) != at::kFloat) {
    *why = {reasons::kUnsupportedDtype, "What is written by the mask is not FP32."};
    return std::nullopt;
  }
  if (rows->empty() || rows->back() != sizes->back()) return std::nullopt;
  std::int64_t count = 1;
  for (std::size_t axis = 0; axis + 1 < rows->size(); ++axis) count *= (*rows)[axis];
  return PlacesMatch{Use::kScatter, {mask, 0, chosen->size(), 1}, source, count};
}

std::optional<PlacesMatch> matchPlaces(PassContext&, Node* node, Decline* why) {
  if (node->kind() == torch::jit::aten::index) return matchIndex(node);
  if (node->kind() == torch::jit::aten::index_put) return matchIndexPut(node, why);
  return matchMaskedScatter(node, why);
}

// True for a reshape to all sizes of one tensor, `sized`.
bool isReshapedLike(const Node* reshape, const Value** sized) {
  if (!isReshape(reshape) || !decidedElements(reshape->input(1))) return false;
  const auto entries = reshape->input(1)->node()->inputs();
  const auto sizes = knownSizes(reshape->output());
  if (entries.empty() || !sizes) return false;
  for (std::size_t axis = 0; axis < entries.size(); ++axis) {
    const Node* size = entries[axis]->node();
    const bool of_one = isKind(size, "aten::size") && size->inputs().size() == 2 &&
                        constantInt(size->input(1)) == static_cast<std::int64_t>(axis) &&
                        (axis == 0 || size->input(0) == *sized);
    if (!of_one) return false;
    *sized = size->input(0);
  }
  return knownSizes(*sized) == sizes;
}

// A tensor that has the sizes of x in every run, and was there before: a mask chooses the same places in both.
Value* sizedAs(Value* x) {
  static const std::unordered_set<std::string> kKeep = {"aten::clone",         "aten::contiguous",    "aten::index_put",
                                                        "aten::index_copy",    "aten::index_add",     "aten::detach",
                                                        "aten::slice_scatter", "aten::select_scatter"};
  for (int followed = 0; followed < kMaxFollowed; ++followed) {
    Node* node = x->node();
    const Value* sized = nullptr;
    if (kKeep.count(node->kind().toQualString()) != 0) {
      x = node->input(0);
    } else if (isReshapedLike(node, &sized)) {
      x = node->input(1)->node()->input(0)->node()->input(0);
    } else {
      break;
    }
  }
  return x;
}

class PlacesWriter {
 public:
  PlacesWriter(Rewriter& rewriter, Node* node, const PlacesMatch& match)
      : write_(rewriter, node), longs_(rewriter, node, at::kLong), masks_(rewriter, node, at::kBool), match_(match) {}

  Value* result() {
    const MaskIndex& index = match_.index;
    Value* const x = write_.node()->input(0);
    const Ints sizes = *knownSizes(x);
    Value *const places = chosenPlaces(), *const joint = joinedAxes(x);
    Value* const axis = write_.number(static_cast<std::int64_t>(index.axis));
    if (match_.use == Use::kRead)
      return write_.make("aten::index_select", {joint, axis, places}, *knownSizes(write_.node()->output()));
    Value* rows = match_.use == Use::kScatter ? firstRows(places) : match_.rows;
    std::vector<Value*> operands{joint, axis, places, rows};
    if (match_.use == Use::kAdd) operands.push_back(write_.number(1));
    Value* written =
        write_.make(match_.use == Use::kAdd ? "aten::index_add" : "aten::index_copy", operands, *knownSizes(joint));
    if (index.axes == 1) return written;
    return write_.make("aten::reshape", {written, write_.sizesOf(x, sizes.size())}, sizes);
  }

 private:
  // The places that are true, counted over all of the mask.
  Value* chosenPlaces() {
    Value* mask = checkedMask();
    if (match_.index.axes > 1) {
      mask = masks_.make("aten::reshape", {mask, masks_.ints({-1})},
                         {c10::multiply_integers(*knownSizes(match_.index.mask))});
    }
    Value* places = longs_.make("aten::nonzero", {mask}, {match_.chosen, 1});
    return longs_.make("aten::select", {places, longs_.number(1), longs_.number(0)}, {match_.chosen});
  }

  // The mask as large as the axes of x that it stands for, which the operator asks for at every call. masked_scatter
  // repeats smaller ones.
  Value* checkedMask() {
    Value* mask = match_.index.mask;
    const bool may_repeat = match_.use == Use::kScatter || match_.index.axes > 1;
    return masks_.make(may_repeat ? "aten::expand" : "aten::reshape", checkedOperands(mask, may_repeat),
                       *knownSizes(mask));
  }

  std::vector<Value*> checkedOperands(Value* mask, bool may_repeat) {
    std::vector<Value*> entries;
    for (std::size_t axis = 0; axis < match_.index.axes; ++axis)
      entries.push_back(write_.size(sizedAs(write_.node()->input(0)), match_.index.axis + axis));
    std::vector<Value*> operands{mask, masks_.list(entries)};
    if (may_repeat) operands.push_back(masks_.no());
    return operands;
  }

  // x with the axes of the mask as one.
  Value* joinedAxes(Value* x) {
    const MaskIndex& index = match_.index;
    if (index.axes == 1) return x;
    const Ints sizes = *knownSizes(x);
    Value* const counted = match_.use == Use::kScatter ? x : index.mask;
    std::vector<Value*> entries;
    Ints joined;
    for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
      if (axis > index.axis && axis < index.axis + index.axes) {
        joined.back() *= sizes[axis];
        entries.back() = write_.integer("aten::mul", {entries.back(), write_.size(counted, axis - index.axis)});
        continue;
      }
      joined.push_back(sizes[axis]);
      entries.push_back(axis == index.axis ? write_.size(counted, 0) : write_.size(x, axis));
    }
    return write_.make("aten::reshape", {x, write_.list(entries)}, joined);
  }

  // As many rows of the source as the mask chooses, which it may have more of.
  Value* firstRows(Value* places) {
    const Ints sizes = *knownSizes(match_.rows);
    const std::int64_t width = sizes.back();
    Value* rows = match_.rows;
    if (sizes.size() != 2) {
      Value* last = write_.size(rows, sizes.size() - 1);
      rows = write_.make("aten::reshape", {rows, write_.list({write_.number(-1), last})}, {match_.chosen, width});
    }
    return write_.make("aten::slice",
                       {rows, write_.number(0), write_.number(0), write_.size(places, 0), write_.number(1)},
                       {match_.chosen, width});
  }

  NodeWriter write_, longs_, masks_;
  const PlacesMatch& match_;
};

void rewritePlaces(Rewriter& rewriter, Node* node, PlacesMatch& match) {
  Value* result = PlacesWriter(rewriter, node, match).result();
  rewriter.replace({node}, node->output(), result, "uses the places that the mask chooses");
}

bool canonicalizeMaskPlaces(torch::jit::Graph&, PassContext& context) {
  // Reads first: they ask whether others use their masks.
  bool changed = rewriteMatches(context, context.nodes({"aten::index"}), matchPlaces, rewritePlaces);
  changed |=
      rewriteMatches(context, context.nodes({"aten::index_put", "aten::masked_scatter"}), matchPlaces, rewritePlaces);
  return changed;
}

}  // namespace

const Pass kCanonicalizeMaskPlaces = {"canonicalize-mask-places",
                                      "Reads and writes rows that a mask chooses by their places.",
                                      &canonicalizeMaskPlaces,
                                      {"aten::index", "aten::index_put", "aten::masked_scatter"}};

}  // namespace ipex_studio
