// Lowering of views. They cost nothing in a plan if the source is strided.
#include <algorithm>
#include <limits>
#include <numeric>

#include "core/graph/node_facts.h"
#include "core/lower/lowering_builder.h"

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
  return swapAxes(node, wrapAxis(needInt(node->input(1), "dim0"), rank),
                  wrapAxis(needInt(node->input(2), "dim1"), rank), rank);
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
  if (node->inputs().size() != 2)
    decline(reasons::kUnsupportedAttribute, "squeeze() of every dimension depends on the sizes.");
  OpSpec spec = view(OpKind::kSqueeze);
  spec.attributes["axes"] = Ints{wrapAxis(needInt(node->input(1), "dim"), rank)};
  // Later dimensions are counted from the rank that the example run saw.
  spec.attributes["rank"] = std::int64_t{needRank(node->output())};
  return single(spec, {use(node->input(0))}, {node->output()});
}

// Lowers aten::contiguous, detach, alias and clone to the same tensor; a copy is made only where a reader needs one.
LoweredNode lowerIdentity(Node* node) {
  needRank(node->input(0));
  OpSpec spec = view(OpKind::kSqueeze);
  spec.attributes["axes"] = Ints{};
  return single(spec, {use(node->input(0))}, {node->output()});
}

// The pieces that aten::chunk / split / split_with_sizes / unbind cut a tensor into.
struct Pieces {
  std::string kind;
  Value* tensor = nullptr;
  std::int64_t axis = 0, size = 0, count = 0, each = 0;
  Ints sizes;                       // where each is given
  std::vector<Value*> at_run_time;  // where each is given, and not all are constants
};

Pieces readPieces(Node* source) {
  Pieces pieces;
  pieces.kind = source->kind().toQualString();
  if (pieces.kind != "aten::chunk" && pieces.kind != "aten::split" && pieces.kind != "aten::split_with_sizes" &&
      pieces.kind != "aten::unbind") {
    decline(reasons::kUnsupportedOperator, "A list that plans cannot take apart.");
  }
  pieces.tensor = source->input(0);
  const int rank = needRank(pieces.tensor);
  pieces.axis = wrapAxis(needInt(source->inputs().back(), "dim"), rank);
  pieces.size = (*knownSizes(pieces.tensor))[static_cast<std::size_t>(pieces.axis)];
  const bool one_by_one = pieces.kind == "aten::split" && source->input(1)->type()->kind() == c10::TypeKind::ListType;
  if (one_by_one) pieces.kind = "aten::split_with_sizes";
  if (pieces.kind == "aten::unbind") {
    pieces.count = pieces.size;
  } else if (pieces.kind == "aten::split_with_sizes") {
    const auto constant = constantInts(source->input(1));
    if (constant) {
      pieces.sizes = *constant;
    } else {
      pieces.at_run_time = needList(source->input(1));
    }
    pieces.count = static_cast<std::int64_t>(constant ? constant->size() : pieces.at_run_time.size());
  } else if (pieces.kind == "aten::split") {
    pieces.each = needInt(source->input(1), "split_size");
    if (pieces.each < 1) decline(reasons::kUnsupportedAttribute, "Pieces of no size.");
    pieces.count = std::max<std::int64_t>(1, (pieces.size + pieces.each - 1) / pieces.each);
  } else {
    const std::int64_t wished = needInt(source->input(1), "chunks");
    if (wished < 1) decline(reasons::kUnsupportedAttribute, "No pieces at all.");
    const std::int64_t each = std::max<std::int64_t>(1, (pieces.size + wished - 1) / wished);
    pieces.count = std::max<std::int64_t>(1, (pieces.size + each - 1) / each);
  }
  return pieces;
}

LoweredOp pieceOf(const Pieces& pieces, std::int64_t part, Value* result) {
  OpSpec spec = view(pieces.kind == "aten::unbind" ? OpKind::kSelect : OpKind::kSlice);
  spec.attributes["axis"] = pieces.axis;
  if (pieces.kind == "aten::unbind") {
    spec.attributes["of"] = pieces.size;
    spec.attributes["index"] = part;
  } else if (pieces.kind == "aten::split_with_sizes") {
    const auto before = pieces.sizes.begin() + static_cast<std::ptrdiff_t>(part);
    const std::int64_t begin = std::accumulate(pieces.sizes.begin(), before, std::int64_t{0});
    spec.attributes["of"] = pieces.size;
    spec.attributes["begin"] = begin;
    spec.attributes["end"] = begin + *before;
  } else {
    spec.attributes["parts"] = pieces.count;
    spec.attributes["part"] = part;
    if (pieces.kind == "aten::split") spec.attributes["part_size"] = pieces.each;
  }
  return {spec, {use(pieces.tensor)}, {}, {result}};
}

// Cuts pieces off from the front, whose sizes are known when a plan is made; null in `results`: nothing reads that one.
// A negative size, and sizes that are together more or less than the axis, have no plan.
LoweredNode cutOneByOne(const Pieces& pieces, const std::vector<Value*>& results) {
  constexpr std::int64_t kAll = std::numeric_limits<std::int64_t>::max();
  Steps steps;
  LoweredOperand rest = use(pieces.tensor);
  for (std::size_t part = 0; part < pieces.at_run_time.size(); ++part) {
    Value* const size = pieces.at_run_time[part];
    const auto known = constantInt(size);
    const bool last = part + 1 == pieces.at_run_time.size();
    const auto cut = [&](const char* checked) {
      const LoweredOperand piece = steps.add(OpKind::kSlice,
                                             {{"axis", pieces.axis},
                                              {"begin", std::int64_t{0}},
                                              {"end", known.value_or(0)},
                                              {"step", std::int64_t{1}},
                                              {checked, known.value_or(0)}},
                                             {rest});
      if (!known) {
        steps.addRef({"end", -1, size});
        steps.addRef({checked, -1, size});
      }
      return piece;
    };
    cut(last ? "of" : "least");
    if (part < results.size() && results[part] != nullptr) steps.give(results[part]);
    if (last) break;
    rest = steps.add(OpKind::kSlice,
                     {{"axis", pieces.axis},
                      {"begin", known.value_or(0)},
                      {"end", kAll},
                      {"step", std::int64_t{1}},
                      {"forward", std::int64_t{1}}},
                     {rest});
    if (!known) steps.addRef({"begin", -1, size});
  }
  return steps.done();
}

// prim::ListUnpack of Pieces: one view per result.
LoweredNode lowerListUnpack(Node* unpack) {
  if (isKind(unpack->input()->node(), "aten::meshgrid")) return lowerMeshgrid(unpack->input()->node(), unpack);
  const Pieces pieces = readPieces(unpack->input()->node());
  if (pieces.count != static_cast<std::int64_t>(unpack->outputs().size()))
    decline(reasons::kShapeMismatch, "A list of another length is taken apart.");
  if (!pieces.at_run_time.empty()) return cutOneByOne(pieces, unpack->outputs().vec());
  LoweredNode lowered;
  for (std::int64_t part = 0; part < pieces.count; ++part) {
    lowered.ops.push_back(pieceOf(pieces, part, unpack->output(static_cast<std::size_t>(part))));
  }
  return lowered;
}

// aten::__getitem__ of Pieces, by a constant index.
LoweredNode lowerListItem(Node* item) {
  if (isKind(item->input(0)->node(), "aten::meshgrid")) return lowerMeshgrid(item->input(0)->node(), item);
  const Pieces pieces = readPieces(item->input(0)->node());
  const std::int64_t given = needInt(item->input(1), "index");
  const std::int64_t part = given < 0 ? given + pieces.count : given;
  if (part < 0 || part >= pieces.count) decline(reasons::kUnsupportedAttribute, "The index is out of range.");
  if (!pieces.at_run_time.empty()) {
    std::vector<Value*> results(pieces.at_run_time.size(), nullptr);
    results[static_cast<std::size_t>(part)] = item->output();
    return cutOneByOne(pieces, results);
  }
  return {{pieceOf(pieces, part, item->output())}};
}

}  // namespace

void addViewLowerings(Table& table) {
  for (const char* kind : {"aten::view", "aten::reshape", "aten::_unsafe_view"}) table[kind] = lowerReshape;
  for (const char* kind : {"aten::contiguous", "aten::detach", "aten::alias", "aten::clone"})
    table[kind] = lowerIdentity;
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
  table["aten::__getitem__"] = lowerListItem;
}

}  // namespace ipex_studio::lowering
