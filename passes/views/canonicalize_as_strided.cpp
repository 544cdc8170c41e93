// Reads overlapping windows of a tensor by indices instead of by strides, so that the order in memory is shown no more.
//   before  %v = view(%x, [n, 4])           %y = as_strided(%v, [%k, 8, 4], [16, 4, 1], None)
//   after   %r = reshape(%x, [-1, 4])       %i = arange(%k) * 4 + arange(8), flattened
//           %y = reshape(index_select(%r, 0, %i), [%k, 8, 4])
// A row-major x is read by its numbers alone, whatever views lie in between; strides are constants. Rows are as long as
// the last axis, if that divides all strides, else single elements. Places outside of x have no plan, and libtorch
// refuses them.
// Declines: value-may-be-aliased-or-written, not-profitable (very many places), unsupported-attribute (strides or an
// offset of the run, memory whose order is not known), unsupported-dtype.
// Runs after fold-constants and record-shapes; before whatever looks for products. Numerics: none.
#include <algorithm>
#include <optional>
#include <vector>

#include "core/graph/fused_op.h"
#include "core/graph/node_facts.h"
#include "core/graph/rewrite_matches.h"
#include "core/graph/strides.h"
#include "passes/match/aliasing.h"
#include "passes/match/node_writer.h"
#include "passes/pass_list.h"

namespace ipex_studio {
namespace {

using torch::jit::Node;
using torch::jit::Value;
using Ints = std::vector<std::int64_t>;
namespace aten = torch::jit::aten;

constexpr int kMaxNames = 16;
constexpr std::int64_t kMaxPlaces = 1 << 20, kMaxSinglePlaces = 1 << 12;

// An axis in every run: its size, as a constant or as a value, and the elements from one to the next, where known.
struct Axis {
  std::optional<std::int64_t> size, stride;
  const Value* symbol = nullptr;
  bool sameSizeAs(const Axis& other) const {
    return size ? size == other.size : symbol != nullptr && symbol == other.symbol && !other.size;
  }
};
using Layout = std::vector<Axis>;

std::optional<Layout> layoutOf(const Value* x, int depth);

// The size that an entry of a list of sizes names.
Axis axisOf(const Value* entry, int depth) {
  const auto constant = constantInt(entry);
  if (constant) return {*constant >= 0 ? constant : std::nullopt, std::nullopt, nullptr};
  const Node* node = entry->node();
  const auto of = isKind(node, "aten::size") && node->inputs().size() == 2 ? constantInt(node->input(1)) : std::nullopt;
  if (of && *of >= 0) {
    const auto layout = layoutOf(node->input(0), depth - 1);
    const auto at = static_cast<std::size_t>(*of);
    if (layout && at < layout->size() && ((*layout)[at].size || (*layout)[at].symbol != nullptr)) {
      Axis axis = (*layout)[at];
      axis.stride = std::nullopt;
      return axis;
    }
  }
  return {std::nullopt, std::nullopt, entry};
}

std::optional<Layout> axesOf(const Value* list, int depth) {
  Layout axes;
  if (const auto constant = constantInts(list)) {
    for (const std::int64_t size : *constant)
      axes.push_back({size >= 0 ? std::optional<std::int64_t>(size) : std::nullopt, std::nullopt, nullptr});
    return axes;
  }
  const auto entries = decidedElements(list);
  if (!entries) return std::nullopt;
  for (const Value* entry : *entries) axes.push_back(axisOf(entry, depth));
  return axes;
}

Layout rowMajor(Layout axes) {
  std::optional<std::int64_t> stride = 1;
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    axis->stride = stride;
    stride = stride && axis->size ? std::optional<std::int64_t>(*stride * *axis->size) : std::nullopt;
  }
  return axes;
}

bool isView(const Node* node) {
  return isKind(node, "aten::view") || node->kind() == aten::transpose || node->kind() == aten::permute ||
         node->kind() == aten::unsqueeze;
}

bool isShape(const Node* node) { return isReshape(node) && node->inputs().size() == 2; }

// True if the tensor is new and row-major in every run.
bool isNewRowMajor(const Value* x) {
  const Node* node = x->node();
  if (node->kind() != aten::contiguous && makesRowMajor(node)) return true;  // that may be a part of other memory
  if (isKind(node, "aten::pad") || isKind(node, "aten::constant_pad_nd")) {
    const auto sizes = knownSizes(x);  // of more axes, it may be channels-last as its operand is
    return sizes && sizes->size() <= 3;
  }
  if (node->kind() != aten::div && node->kind() != aten::mul) return false;
  const auto by = constantTensor(node->input(1));
  const bool by_number = by ? by->dim() == 0 : constantNumber(node->input(1)).has_value();
  return by_number && isNewRowMajor(node->input(0));
}

// True if all values on the way from new row-major memory are reshaped, and so row-major themselves.
bool isRowMajor(const Value* x) {
  for (int views = 0; views < kMaxNames && isShape(x->node()); ++views) x = x->node()->input(0);
  return isNewRowMajor(x);
}

std::optional<Layout> layoutOf(const Value* x, int depth) {
  const auto sizes = knownSizes(x);
  if (depth <= 0 || !sizes) return std::nullopt;
  const Node* node = x->node();
  if (isRowMajor(x)) {
    if (isShape(node)) {
      const auto axes = axesOf(node->input(1), depth - 1);
      return axes && axes->size() == sizes->size() ? std::optional<Layout>(rowMajor(*axes)) : std::nullopt;
    }
    return rowMajor(Layout(sizes->size()));
  }
  if (node->kind() != aten::transpose && node->kind() != aten::permute) return std::nullopt;
  auto layout = layoutOf(node->input(0), depth - 1);
  if (!layout) return std::nullopt;
  const auto rank = static_cast<std::int64_t>(layout->size());
  const auto wrapped = [&](std::int64_t axis) { return static_cast<std::size_t>(axis < 0 ? axis + rank : axis); };
  if (node->kind() == aten::transpose) {
    const auto a = constantInt(node->input(1)), b = constantInt(node->input(2));
    if (!a || !b || wrapped(*a) >= layout->size() || wrapped(*b) >= layout->size()) return std::nullopt;
    std::swap((*layout)[wrapped(*a)], (*layout)[wrapped(*b)]);
    return layout;
  }
  const auto order = constantInts(node->input(1));
  if (!order || order->size() != layout->size()) return std::nullopt;
  Layout permuted;
  for (const std::int64_t axis : *order) {
    if (wrapped(axis) >= layout->size()) return std::nullopt;
    permuted.push_back((*layout)[wrapped(axis)]);
  }
  return permuted;
}

// True if a reshape of what is not row-major never copies: axes that lie behind each other become one, and the others
// stay as they are.
bool joinsNeighbours(const Node* reshape) {
  const auto from = layoutOf(reshape->input(0), kMaxNames);
  const auto to = axesOf(reshape->input(1), kMaxNames);
  if (!from || !to) return false;
  std::size_t next = 0;
  int joined = 0;
  for (std::size_t axis = 0; axis < from->size(); ++next) {
    if (next == to->size()) return false;
    std::size_t last = axis;
    while (last + 1 < from->size() && (*from)[last].stride && (*from)[last + 1].stride && (*from)[last + 1].size &&
           *(*from)[last].stride == *(*from)[last + 1].size * *(*from)[last + 1].stride)
      ++last;
    if (last == axis ? !(*from)[axis].sameSizeAs((*to)[next]) : ++joined > 1) return false;
    axis = last + 1;
  }
  return next == to->size();
}

// The row-major tensor whose memory the value shows from its beginning on; nullptr: it is not known.
Value* memoryOf(Value* x) {
  for (int views = 0; views < kMaxNames; ++views) {
    if (isNewRowMajor(x)) return x;
    Node* node = x->node();
    const bool shows = isView(node) || (isShape(node) && (isRowMajor(node->input(0)) || joinsNeighbours(node)));
    if (!shows) return nullptr;
    x = node->input(0);
  }
  return nullptr;
}

// The size of the last axis in every run, where it is a constant.
std::optional<std::int64_t> lastSizeOf(const Value* x) {
  const Node* node = x->node();
  if (isShape(node)) {
    const auto axes = axesOf(node->input(1), kMaxNames);
    return axes && !axes->empty() ? axes->back().size : std::nullopt;
  }
  if (!isKind(node, "aten::pad") && !isKind(node, "aten::constant_pad_nd")) return std::nullopt;
  const auto padding = constantInts(node->input(1));
  const bool kept = padding && padding->size() >= 2 && (*padding)[0] == 0 && (*padding)[1] == 0;
  return kept ? lastSizeOf(node->input(0)) : std::nullopt;
}

struct StridedMatch {
  Value* memory = nullptr;
  std::vector<Value*> sizes;  // nullptr: a constant, as in the example
  Ints seen, strides;
  std::int64_t row = 1;  // elements that are read at once
};

std::optional<StridedMatch> matchStrided(PassContext& context, Node* node, Decline* why) {
  Value* x = node->input(0);
  const auto sizes = knownSizes(node->output());
  const auto strides = constantInts(node->input(2));
  const auto dtype = knownDtype(x);
  if (!sizes || !knownSizes(x)) return std::nullopt;
  if (dtype != at::kFloat && dtype != at::kLong) {
    *why = {reasons::kUnsupportedDtype, "What is read by strides is neither FP32 nor int64."};
    return std::nullopt;
  }
  StridedMatch match;
  const bool from_begin = isNone(node->input(3)) || constantInt(node->input(3)) == 0;
  match.memory = memoryOf(x);
  if (match.memory != nullptr && knownDtype(match.memory) != dtype) match.memory = nullptr;  // a view as another type
  const bool decided = strides && strides->size() == sizes->size() && from_begin && match.memory != nullptr &&
                       std::all_of(strides->begin(), strides->end(), [](std::int64_t stride) { return stride >= 0; });
  if (!decided) {
    *why = {reasons::kUnsupportedAttribute, "The order of the memory that is read by strides is not known."};
    return std::nullopt;
  }
  if ((*why = checkSameValue(context, node->output(), x, true))) return std::nullopt;
  const auto constant = constantInts(node->input(1));
  const auto entries = decidedElements(node->input(1));
  if (!constant && !entries) return std::nullopt;
  for (std::size_t axis = 0; axis < sizes->size(); ++axis)
    match.sizes.push_back(constant || constantInt((*entries)[axis]) ? nullptr : node->input(1)->node()->input(axis));
  match.seen = *sizes;
  match.strides = *strides;
  // Rows: the memory consists of whole ones where the tensor is a view of all of it with such a last axis.
  const std::int64_t row = sizes->empty() ? 1 : sizes->back();
  const bool reads_rows =
      row > 1 && lastSizeOf(x) == row && strides->back() == 1 && match.sizes.back() == nullptr &&
      std::all_of(strides->begin(), strides->end() - 1, [&](std::int64_t stride) { return stride % row == 0; });
  if (reads_rows) match.row = row;
  if (c10::multiply_integers(*sizes) / match.row > (match.row > 1 ? kMaxPlaces : kMaxSinglePlaces)) {
    *why = {reasons::kNotProfitable, "So many places are cheaper by strides."};
    return std::nullopt;
  }
  return match;
}

void rewriteStrided(Rewriter& rewriter, Node* node, StridedMatch& match) {
  NodeWriter write(rewriter, node), longs(rewriter, node, at::kLong);
  const std::size_t axes = match.seen.size() - (match.row > 1 ? 1 : 0);
  Value *const type = longs.number(static_cast<std::int64_t>(at::kLong)), *const none = longs.none();
  Value* places = nullptr;
  Ints sizes;
  for (std::size_t axis = 0; axis < axes; ++axis) {
    const std::int64_t seen = match.seen[axis], stride = match.strides[axis] / match.row;
    Value* size = match.sizes[axis] != nullptr ? match.sizes[axis] : longs.number(seen);
    Value* counted = longs.make("aten::arange", {size, type, none, none, none}, {seen});
    if (stride != 1) counted = longs.make("aten::mul", {counted, longs.number(stride)}, {seen});
    if (places == nullptr) {
      places = counted;
      sizes = {seen};
      continue;
    }
    sizes.push_back(1);
    places = longs.make("aten::unsqueeze", {places, longs.number(-1)}, sizes);
    sizes.back() = seen;
    places = longs.make("aten::add", {places, counted, longs.number(1)}, sizes);
  }
  const std::int64_t all = c10::multiply_integers(sizes);
  places = places == nullptr ? longs.make("aten::zeros", {longs.ints({1}), type, none, none, none}, {1})
                             : longs.make("aten::reshape", {places, longs.ints({-1})}, {all});
  const std::int64_t memory = c10::multiply_integers(*knownSizes(match.memory));
  const Ints rows = match.row > 1 ? Ints{-1, match.row} : Ints{-1};
  const Ints seen_rows = match.row > 1 ? Ints{memory / match.row, match.row} : Ints{memory};
  Value* lines = write.make("aten::reshape", {match.memory, write.ints(rows)}, seen_rows);
  Ints read{all};
  if (match.row > 1) read.push_back(match.row);
  Value* chosen = write.make("aten::index_select", {lines, write.number(0), places}, read);
  std::vector<Value*> entries;
  for (std::size_t axis = 0; axis < match.seen.size(); ++axis)
    entries.push_back(match.sizes[axis] != nullptr ? match.sizes[axis] : write.number(match.seen[axis]));
  Value* result = write.make("aten::reshape", {chosen, write.list(entries)}, match.seen);
  rewriter.replace({node}, node->output(), result, "reads by indices what lies in a known order");
}

bool canonicalizeAsStrided(torch::jit::Graph&, PassContext& context) {
  return rewriteMatches(context, context.nodes({"aten::as_strided"}), matchStrided, rewriteStrided);
}

}  // namespace

const Pass kCanonicalizeAsStrided = {"canonicalize-as-strided",
                                     "Reads windows of row-major memory by indices instead of by strides.",
                                     &canonicalizeAsStrided,
                                     {"aten::as_strided"}};

}  // namespace ipex_studio
