// Writes views and copies that have names of their own as the few that other passes and plans know.
//   before  %a = expand_as(%x, %y)                  after  %a = expand(%x, [size(%y, 0), size(%y, 1)], False)
//           %b = view_as(%x, %y)                           %b = view(%x, [size(%y, 0), size(%y, 1)])
//           %c = movedim(%x, 1, -1)                        %c = permute(%x, [0, 2, 3, 1])
//           %d = narrow(%x, 1, 2, 3)                       %d = slice(%x, 1, 2, 5, 1)
//           %e = repeat(%x, [1, 2])                        %e = flatten(expand(unsqueeze(%x, 1), [-1, 2, -1], …), 1, 2)
//           %f = pixel_shuffle(%x, 2)                      %f = flatten(flatten(permute(view(%x, …), …), 4, 5), 2, 3)
// Also reshape_as, broadcast_to, swapaxes, swapdims, numpy_T, mT, repeat_interleave by a number, unflatten,
// pixel_unshuffle, channel_shuffle, unsafe_chunk, unsafe_split.
// Declines: operand-not-constant, unknown-shape, value-may-be-aliased-or-written, value-is-graph-output (a copy that
// leaves the graph). Runs before fold-constants and all that looks for views. Numerics: none changed.
#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "core/graph/pass.h"
#include "passes/match/aliasing.h"
#include "passes/match/node_writer.h"
#include "passes/pass_list.h"

namespace ipex_studio {

using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;
using Ints = std::vector<std::int64_t>;

namespace {

std::int64_t wrapped(std::int64_t axis, std::size_t rank) {
  return axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis;
}
bool inside(std::int64_t axis, std::size_t rank) { return axis >= 0 && axis < static_cast<std::int64_t>(rank); }

// Each function makes what its node gives, or returns null and has made nothing: an attribute is not constant.
using Function = Value* (*)(NodeWriter& write, const Ints& sizes);

Value* like(NodeWriter& write, const char* kind, bool expands) {
  Node* node = write.node();
  const auto other = knownSizes(node->input(1));
  if (!other) return nullptr;
  Value* shape = write.sizesOf(node->input(1), other->size());
  if (expands) return write.make(kind, {node->input(0), shape, write.no()}, *other);
  return write.make(kind, {node->input(0), shape}, *other);
}
Value* writeExpandAs(NodeWriter& write, const Ints&) { return like(write, "aten::expand", true); }
Value* writeViewAs(NodeWriter& write, const Ints&) { return like(write, "aten::view", false); }
Value* writeReshapeAs(NodeWriter& write, const Ints&) { return like(write, "aten::reshape", false); }

Value* writeBroadcastTo(NodeWriter& write, const Ints&) {
  const auto result = knownSizes(write.node()->output());
  if (!result) return nullptr;
  return write.make("aten::expand", {write.node()->input(0), write.node()->input(1), write.no()}, *result);
}

Value* writeReversed(NodeWriter& write, const Ints& sizes) {
  Ints order(sizes.size());
  std::iota(order.rbegin(), order.rend(), 0);
  return write.permute(write.node()->input(0), order);
}

Value* writeMatrixTransposed(NodeWriter& write, const Ints& sizes) {
  if (sizes.size() < 2) return nullptr;
  Ints order(sizes.size());
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[sizes.size() - 1], order[sizes.size() - 2]);
  return write.permute(write.node()->input(0), order);
}

Value* writeSwapped(NodeWriter& write, const Ints& sizes) {
  const auto a = constantInt(write.node()->input(1)), b = constantInt(write.node()->input(2));
  if (!a || !b || !inside(wrapped(*a, sizes.size()), sizes.size()) || !inside(wrapped(*b, sizes.size()), sizes.size()))
    return nullptr;
  Ints order(sizes.size());
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[static_cast<std::size_t>(wrapped(*a, sizes.size()))],
            order[static_cast<std::size_t>(wrapped(*b, sizes.size()))]);
  return write.permute(write.node()->input(0), order);
}

// movedim(x, from, to), numbers or lists
Value* writeMoved(NodeWriter& write, const Ints& sizes) {
  const auto from = constantInts(write.node()->input(1)), to = constantInts(write.node()->input(2));
  if (!from || !to || from->size() != to->size()) return nullptr;
  Ints order(sizes.size(), -1);
  std::vector<bool> moved(sizes.size(), false);
  for (std::size_t i = 0; i < from->size(); ++i) {
    const std::int64_t source = wrapped((*from)[i], sizes.size()), target = wrapped((*to)[i], sizes.size());
    if (!inside(source, sizes.size()) || !inside(target, sizes.size())) return nullptr;
    order[static_cast<std::size_t>(target)] = source;
    moved[static_cast<std::size_t>(source)] = true;
  }
  std::size_t next = 0;
  for (std::int64_t& entry : order) {
    while (entry < 0 && moved[next]) ++next;
    if (entry < 0) entry = static_cast<std::int64_t>(next++);
  }
  return write.permute(write.node()->input(0), order);
}

// narrow(x, dim, start, length), the numbers known or not
Value* writeNarrow(NodeWriter& write, const Ints&) {
  Node* node = write.node();
  const auto result = knownSizes(node->output());
  if (!result || !node->input(2)->type()->isSubtypeOf(*c10::IntType::get())) return nullptr;
  const auto start = constantInt(node->input(2)), length = constantInt(node->input(3));
  // A negative start may end at the very end, which a slice would write as 0.
  if (!start || *start < 0) return nullptr;
  Value* end = length ? write.number(*start + *length) : write.integer("aten::add", {node->input(2), node->input(3)});
  return write.make("aten::slice", {node->input(0), node->input(1), node->input(2), end, write.number(1)}, *result);
}

// Dimension `axis` of `x` repeated as a whole, or each element on its own; `times`, found at run time, was `seen`.
Value* repeated(NodeWriter& write, Value* x, std::size_t axis, Value* times, std::int64_t seen, bool elements) {
  Ints sizes = *knownSizes(x);
  const std::size_t at = axis + (elements ? 1 : 0);
  sizes.insert(sizes.begin() + static_cast<std::ptrdiff_t>(at), 1);
  x = write.make("aten::unsqueeze", {x, write.number(static_cast<std::int64_t>(at))}, sizes);
  std::vector<Value*> shape;
  for (std::size_t a = 0; a < sizes.size(); ++a) shape.push_back(a == at ? times : write.number(-1));
  sizes[at] = seen;
  x = write.make("aten::expand", {x, write.list(shape), write.no()}, sizes);
  return write.flatten(x, axis);
}

// repeat(x, times) and tile(x, times), which takes fewer numbers for the last axes; one may be found at run time.
Value* writeRepeat(NodeWriter& write, const Ints& sizes) {
  Node* node = write.node();
  const auto result = knownSizes(node->output());
  const auto constant = constantInts(node->input(1));
  const auto entries = decidedElements(node->input(1));
  if (!result || (!constant && !entries)) return nullptr;
  Ints times = constant.value_or(Ints());
  std::vector<Value*> found(times.size(), nullptr);  // numbers of times that are no constants
  for (std::size_t i = 0; !constant && i < entries->size(); ++i) {
    const auto known = constantInt((*entries)[i]);
    times.push_back(known.value_or(0));
    found.push_back(known ? nullptr : node->input(1)->node()->input(i));
  }
  const std::size_t left =
      node->kind() == torch::jit::aten::tile && times.size() < sizes.size() ? sizes.size() - times.size() : 0;
  times.insert(times.begin(), left, 1);
  found.insert(found.begin(), left, nullptr);
  const std::size_t count = times.size();
  if (count < sizes.size() || count != result->size()) return nullptr;
  bool changes = false;
  for (std::size_t axis = 0; axis < count; ++axis) {
    if (found[axis] == nullptr && times[axis] < 1) return nullptr;
    changes = changes || times[axis] != 1;
  }
  if (!changes) return nullptr;
  Value* x = node->input(0);
  Ints grown = sizes;
  for (std::size_t axis = sizes.size(); axis < count; ++axis) {
    grown.insert(grown.begin(), 1);
    x = write.make("aten::unsqueeze", {x, write.number(0)}, grown);
  }
  for (std::size_t axis = 0; axis < count; ++axis) {
    if (times[axis] == 1) continue;
    const std::int64_t seen = grown[axis] == 0 ? 1 : (*result)[axis] / grown[axis];
    x = repeated(write, x, axis, found[axis] != nullptr ? found[axis] : write.number(times[axis]), seen, false);
  }
  return x;
}

// repeat_interleave(x, times, dim, output_size?)
Value* writeRepeatInterleave(NodeWriter& write, const Ints& sizes) {
  Node* node = write.node();
  if (node->inputs().size() < 3) return nullptr;
  const auto times = constantInt(node->input(1)), given = constantInt(node->input(2));
  if (!times || !given || *times < 2 || !inside(wrapped(*given, sizes.size()), sizes.size())) return nullptr;
  return repeated(write, node->input(0), static_cast<std::size_t>(wrapped(*given, sizes.size())), write.number(*times),
                  *times, true);
}

Value* quotient(NodeWriter& write, Value* x, std::size_t axis, std::int64_t by) {
  return write.integer("aten::floordiv", {write.size(x, axis), write.number(by)});
}

// pixel_shuffle(x, r): [N, C·r·r, H, W] to [N, C, H·r, W·r]
Value* writePixelShuffle(NodeWriter& write, const Ints& sizes) {
  Value* x = write.node()->input(0);
  const auto r = constantInt(write.node()->input(1));
  if (!r || *r < 2 || sizes.size() != 4 || sizes[1] % (*r * *r) != 0) return nullptr;
  Value* shape = write.list({write.size(x, 0), quotient(write, x, 1, *r * *r), write.number(*r), write.number(*r),
                             write.size(x, 2), write.size(x, 3)});
  Value* parts = write.make("aten::reshape", {x, shape}, {sizes[0], sizes[1] / (*r * *r), *r, *r, sizes[2], sizes[3]});
  return write.flatten(write.flatten(write.permute(parts, {0, 1, 4, 2, 5, 3}), 4), 2);
}

// pixel_unshuffle(x, r): [N, C, H·r, W·r] to [N, C·r·r, H, W]; libtorch returns what has no elements as it is
Value* writePixelUnshuffle(NodeWriter& write, const Ints& sizes) {
  Value* x = write.node()->input(0);
  const auto r = constantInt(write.node()->input(1));
  if (!r || *r < 2 || sizes.size() != 4 || sizes[2] % *r != 0 || sizes[3] % *r != 0) return nullptr;
  if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end()) return nullptr;
  Value* shape = write.list({write.size(x, 0), write.size(x, 1), quotient(write, x, 2, *r), write.number(*r),
                             quotient(write, x, 3, *r), write.number(*r)});
  Value* parts = write.make("aten::reshape", {x, shape}, {sizes[0], sizes[1], sizes[2] / *r, *r, sizes[3] / *r, *r});
  return write.flatten(write.flatten(write.permute(parts, {0, 1, 3, 5, 2, 4}), 1), 1);
}

// channel_shuffle(x, groups): channels [groups, C / groups] to [C / groups, groups]
Value* writeChannelShuffle(NodeWriter& write, const Ints& sizes) {
  Value* x = write.node()->input(0);
  const auto groups = constantInt(write.node()->input(1));
  if (!groups || *groups < 2 || sizes.size() != 4 || sizes[1] % *groups != 0) return nullptr;
  Value* shape = write.list(
      {write.size(x, 0), write.number(*groups), quotient(write, x, 1, *groups), write.size(x, 2), write.size(x, 3)});
  Value* parts = write.make("aten::reshape", {x, shape}, {sizes[0], *groups, sizes[1] / *groups, sizes[2], sizes[3]});
  return write.flatten(write.permute(parts, {0, 2, 1, 3, 4}), 1);
}

// unflatten(x, dim, sizes[]): one dimension as several, of which one may be -1
Value* writeUnflatten(NodeWriter& write, const Ints& sizes) {
  Node* node = write.node();
  const auto result = knownSizes(node->output());
  const auto given = constantInt(node->input(1));
  if (!result || !given || !inside(wrapped(*given, sizes.size()), sizes.size())) return nullptr;
  const auto constant = constantInts(node->input(2));
  const bool listed = decidedElements(node->input(2)).has_value();
  if (!constant && !listed) return nullptr;
  const auto dim = static_cast<std::size_t>(wrapped(*given, sizes.size()));
  std::vector<Value*> shape;
  for (std::size_t axis = 0; axis < dim; ++axis) shape.push_back(write.size(node->input(0), axis));
  if (constant) {
    for (const std::int64_t size : *constant) shape.push_back(write.number(size));
  } else {
    const auto entries = node->input(2)->node()->inputs();
    shape.insert(shape.end(), entries.begin(), entries.end());
  }
  for (std::size_t axis = dim + 1; axis < sizes.size(); ++axis) shape.push_back(write.size(node->input(0), axis));
  return write.make("aten::reshape", {node->input(0), write.list(shape)}, *result);
}

// unsafe_chunk, unsafe_split: the same pieces, which alone may be written to; nothing writes to them here
Value* writePieces(NodeWriter& write, const Ints&) {
  Node* node = write.node();
  const std::string kind = "aten::" + std::string(node->kind().toUnqualString()).substr(sizeof("unsafe_") - 1);
  return write.tensors(kind.c_str(), node->inputs().vec());
}

struct Form {
  Function write;
  bool is_view;  // the result may be its operand's memory, or is a copy in any case
};

const std::unordered_map<std::string, Form>& forms() {
  static const std::unordered_map<std::string, Form> kForms = {
      {"aten::expand_as", {writeExpandAs, true}},
      {"aten::view_as", {writeViewAs, true}},
      {"aten::reshape_as", {writeReshapeAs, false}},
      {"aten::broadcast_to", {writeBroadcastTo, true}},
      {"aten::numpy_T", {writeReversed, true}},
      {"aten::mT", {writeMatrixTransposed, true}},
      {"aten::swapaxes", {writeSwapped, true}},
      {"aten::swapdims", {writeSwapped, true}},
      {"aten::movedim", {writeMoved, true}},
      {"aten::moveaxis", {writeMoved, true}},
      {"aten::narrow", {writeNarrow, true}},
      {"aten::repeat", {writeRepeat, false}},
      {"aten::tile", {writeRepeat, false}},
      {"aten::repeat_interleave", {writeRepeatInterleave, false}},
      {"aten::unflatten", {writeUnflatten, true}},
      {"aten::pixel_shuffle", {writePixelShuffle, true}},
      {"aten::pixel_unshuffle", {writePixelUnshuffle, true}},
      {"aten::channel_shuffle", {writeChannelShuffle, true}},
      {"aten::unsafe_chunk", {writePieces, true}},
      {"aten::unsafe_split", {writePieces, true}},
      {"aten::unsafe_split_with_sizes", {writePieces, true}},
  };
  return kForms;
}

bool canonicalizeViews(Graph& graph, PassContext& context) {
  bool changed = false;
  for (Node* node : context.nodes(kCanonicalizeViews.needs)) {
    if (!context.rewriter.alive(node)) continue;
    const auto form = forms().find(node->kind().toQualString());
    if (form == forms().end() || node->outputs().size() != 1) continue;
    const auto sizes = knownSizes(node->input(0));
    if (!sizes || !knownDtype(node->input(0))) {
      context.missed(node, reasons::kUnknownShape, "The dimensions were not seen in the example run.");
      continue;
    }
    if (const Decline why = checkSameValue(context, node->output(), node->input(0), form->second.is_view)) {
      context.missed(node, why);
      continue;
    }
    if (!context.rewriter.permit(node)) continue;
    NodeWriter write(context.rewriter, node);
    Value* result = form->second.write(write, *sizes);
    if (result == nullptr) {
      context.missed(node, reasons::kNotConstant, "What it is asked for is computed at run time.");
      continue;
    }
    result->setType(node->output()->type());
    context.rewriter.replace({node}, node->output(), result,
                             std::string("written out ") + node->kind().toUnqualString());
    changed = true;
  }
  return changed;
}

std::vector<const char*> viewKinds() {
  std::vector<const char*> kinds;
  for (const auto& [kind, form] : forms()) kinds.push_back(kind.c_str());
  return kinds;
}

}  // namespace

const Pass kCanonicalizeViews = {"canonicalize-views",
                                 "Writes views with names of their own as the few that others know.",
                                 &canonicalizeViews, viewKinds()};

}  // namespace ipex_studio
