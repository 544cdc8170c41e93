// Lowering of views. They cost nothing in a plan wherever the source is strided.
#include <algorithm>
#include <limits>
#include <numeric>

#include "core/graph/lowering_builder.h"

namespace ipex_studio::lowering {
namespace {

using torch::jit::Node;
using torch::jit::Value;
using Ints = std::vector<std::int64_t>;

OpSpec view(OpKind kind) {
  OpSpec spec;
  spec.kind = kind;
  return spec;
}

// aten::view / reshape / _unsafe_view(x, shape)
LoweredNode lowerReshape(Node* node) {
  needRank(node->input(0));
  OpSpec spec = view(OpKind::kReshape);
  std::vector<LoweredRef> refs;
  if (node->inputs().size() != 2) decline(reasons::kUnsupportedAttribute, "A view as another type.");
  intsOrRefs(node->input(1), "shape", spec, refs);
  return single(spec, {use(node->input(0))}, {node->output()}, refs);
}

// aten::flatten(x, start, end)
LoweredNode lowerFlatten(Node* node) {
  const int rank = needRank(node->input(0));
  const int begin = rank == 0 ? 0 : wrapAxis(needInt(node->input(1), "start_dim"), rank);
  const int end = rank == 0 ? 0 : wrapAxis(needInt(node->input(2), "end_dim"), rank);
  OpSpec spec = view(OpKind::kReshape);
  spec.attributes["flatten_begin"] = std::int64_t{begin};
  spec.attributes["flatten_end"] = std::int64_t{end};
  return single(spec, {use(node->input(0))}, {node->output()});
}

LoweredNode lowerPermute(Node* node) {
  needRank(node->input(0));
  OpSpec spec = view(OpKind::kPermute);
  spec.attributes["order"] = needInts(node->input(1), "dims");
  return single(spec, {use(node->input(0))}, {node->output()});
}

LoweredNode swapAxes(Node* node, int a, int b, int rank) {
  Ints order(static_cast<std::size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[static_cast<std::size_t>(a)], order[static_cast<std::size_t>(b)]);
  OpSpec spec = view(OpKind::kPermute);
  spec.attributes["order"] = order;
  return single(spec, {use(node->input(0))}, {node->output()});
}

LoweredNode lowerTranspose(Node* node) {
  const int rank = needRank(node->input(0));
  if (rank == 0) decline(reasons::kUnsupportedAttribute, "A scalar has no dimensions.");
  return swapAxes(node, wrapAxis(needInt(node->input(1), "dim0"), rank), wrapAxis(needInt(node->input(2), "dim1"), rank), rank);
}

LoweredNode lowerT(Node* node) {
  if (needRank(node->input(0)) != 2) decline(reasons::kUnsupportedAttribute, "t() of another rank than 2.");
  return swapAxes(node, 0, 1, 2);
}

// aten::slice(x, dim, start?, end?, step)
LoweredNode lowerSlice(Node* node) {
  const int rank = needRank(node->input(0));
  if (node->inputs().size() != 5) decline(reasons::kUnsupportedAttribute, "A slice of a list.");
  OpSpec spec = view(OpKind::kSlice);
  std::vector<LoweredRef> refs;
  spec.attributes["axis"] = std::int64_t{wrapAxis(needInt(node->input(1), "dim"), rank)};
  spec.attributes["step"] = needInt(node->input(4), "step");
  if (isNone(node->input(2))) {
    spec.attributes["begin"] = std::int64_t{0};
  } else {
    intOrRef(node->input(2), "begin", spec, refs);
  }
  if (isNone(node->input(3))) {
    spec.attributes["end"] = std::numeric_limits<std::int64_t>::max();
  } else {
    intOrRef(node->input(3), "end", spec, refs);
  }
  return single(spec, {use(node->input(0))}, {node->output()}, refs);
}

LoweredNode lowerSelect(Node* node) {
  const int rank = needRank(node->input(0));
  OpSpec spec = view(OpKind::kSelect);
  std::vector<LoweredRef> refs;
  spec.attributes["axis"] = std::int64_t{wrapAxis(needInt(node->input(1), "dim"), rank)};
  intOrRef(node->input(2), "index", spec, refs);
  return single(spec, {use(node->input(0))}, {node->output()}, refs);
}

LoweredNode lowerExpand(Node* node) {
  needRank(node->input(0));
  OpSpec spec = view(OpKind::kExpand);
  std::vector<LoweredRef> refs;
  intsOrRefs(node->input(1), "shape", spec, refs);
  return single(spec, {use(node->input(0))}, {node->output()}, refs);
}

LoweredNode lowerUnsqueeze(Node* node) {
  const int rank = needRank(node->input(0));
  OpSpec spec = view(OpKind::kUnsqueeze);
  spec.attributes["axis"] = std::int64_t{wrapAxis(needInt(node->input(1), "dim"), rank + 1)};
  return single(spec, {use(node->input(0))}, {node->output()});
}

LoweredNode lowerSqueeze(Node* node) {
  const int rank = needRank(node->input(0));
  if (node->inputs().size() != 2) decline(reasons::kUnsupportedAttribute, "squeeze() of every dimension depends on the sizes.");
  OpSpec spec = view(OpKind::kSqueeze);
  spec.attributes["axes"] = Ints{wrapAxis(needInt(node->input(1), "dim"), rank)};
  // Later dimensions are counted as the example had them.
  spec.attributes["rank"] = std::int64_t{needRank(node->output())};
  return single(spec, {use(node->input(0))}, {node->output()});
}

// The same tensor: aten::contiguous, detach, alias, clone; a copy is made only where somebody needs one.
LoweredNode lowerIdentity(Node* node) {
  needRank(node->input(0));
  OpSpec spec = view(OpKind::kSqueeze);
  spec.attributes["axes"] = Ints{};
  return single(spec, {use(node->input(0))}, {node->output()});
}

// prim::ListUnpack of aten::chunk / split / split_with_sizes / unbind: one view per result.
LoweredNode lowerListUnpack(Node* unpack) {
  Node* source = unpack->input()->node();
  const std::string kind = source->kind().toQualString();
  const auto count = static_cast<std::int64_t>(unpack->outputs().size());
  if (kind != "aten::chunk" && kind != "aten::split" && kind != "aten::split_with_sizes" && kind != "aten::unbind") {
    decline(reasons::kUnsupportedOperator, "A list that plans cannot take apart.");
  }
  Value* tensor = source->input(0);
  const int rank = needRank(tensor);
  const auto sizes = knownSizes(tensor);
  const int axis = wrapAxis(needInt(source->inputs().back(), "dim"), rank);
  const std::int64_t size = (*sizes)[static_cast<std::size_t>(axis)];
  LoweredNode lowered;
  std::int64_t begin = 0;
  const Ints given = kind == "aten::split_with_sizes" ? needInts(source->input(1), "split_sizes") : Ints{};
  for (std::int64_t part = 0; part < count; ++part) {
    OpSpec spec = view(kind == "aten::unbind" ? OpKind::kSelect : OpKind::kSlice);
    spec.attributes["axis"] = std::int64_t{axis};
    if (kind == "aten::unbind") {
      spec.attributes["of"] = size;
      spec.attributes["index"] = part;
    } else if (kind == "aten::split_with_sizes") {
      spec.attributes["of"] = size;
      spec.attributes["begin"] = begin;
      begin += given[static_cast<std::size_t>(part)];
      spec.attributes["end"] = begin;
    } else {
      spec.attributes["parts"] = count;
      spec.attributes["part"] = part;
      if (kind == "aten::split") spec.attributes["part_size"] = needInt(source->input(1), "split_size");
    }
    lowered.ops.push_back({spec, {use(tensor)}, {}, {unpack->output(static_cast<std::size_t>(part))}});
  }
  return lowered;
}

}  // namespace

void addViewLowerings(Table& table) {
  for (const char* kind : {"aten::view", "aten::reshape", "aten::_unsafe_view"}) table[kind] = lowerReshape;
  for (const char* kind : {"aten::contiguous", "aten::detach", "aten::alias", "aten::clone"}) table[kind] = lowerIdentity;
  table["aten::flatten"] = lowerFlatten;
  table["aten::permute"] = lowerPermute;
  table["aten::transpose"] = lowerTranspose;
  table["aten::t"] = lowerT;
  table["aten::slice"] = lowerSlice;
  table["aten::select"] = lowerSelect;
  table["aten::expand"] = lowerExpand;
  table["aten::unsqueeze"] = lowerUnsqueeze;
  table["aten::squeeze"] = lowerSqueeze;
  table["prim::ListUnpack"] = lowerListUnpack;
}

}  // namespace ipex_studio::lowering
