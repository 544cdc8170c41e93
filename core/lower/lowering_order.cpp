// Lowering of operators that depend on the order of values along an axis: maxima and minima with indices, sorting,
// top-k, cumulative sums.
#include "core/lower/lowering_builder.h"

namespace ipex_studio::lowering {
namespace {

using torch::jit::Node;
using torch::jit::Value;

void needOrdered(const Value* value) {
  const auto dtype = knownDtype(value);
  if (dtype != at::kLong && dtype != at::kInt) needFloat(value);
}

std::int64_t orderedAxis(Node* node, std::size_t dim) {
  const int rank = needRank(node->input(0));
  if (rank == 0) decline(reasons::kUnsupportedAttribute, "A scalar has no dimensions.");
  return wrapAxis(needInt(node->input(dim), "dim"), rank);
}

// aten::argmax / argmin(x, dim?, keepdim); without `dim` of all elements.
LoweredNode placeOfExtreme(Node* node, const char* mode) {
  needOrdered(node->input(0));
  Steps steps;
  LoweredOperand x = use(node->input(0));
  std::int64_t axis = 0;
  const bool keepdim = needBool(node->input(2), "keepdim");
  if (isNone(node->input(1))) {
    if (keepdim) decline(reasons::kUnsupportedAttribute, "One place of all elements with their dimensions kept.");
    x = steps.add(OpKind::kReshape, {{"shape", std::vector<std::int64_t>{-1}}}, {x});
  } else {
    axis = orderedAxis(node, 1);
  }
  LoweredOperand place = steps.add(
      OpKind::kMaxMin, {{"mode", std::string(mode)}, {"axis", axis}, {"keepdim", std::int64_t{keepdim}}}, {x}, 2);
  place.result = 1;
  steps.same(place);
  return steps.finish(node);
}
LoweredNode lowerArgmax(Node* node) { return placeOfExtreme(node, "max"); }
LoweredNode lowerArgmin(Node* node) { return placeOfExtreme(node, "min"); }

// aten::topk(x, k, dim, largest, sorted) -> (values, indices)
LoweredNode lowerTopK(Node* node) {
  needOrdered(node->input(0));
  OpSpec spec;
  std::vector<LoweredRef> refs;
  spec.kind = OpKind::kSort;
  spec.attributes = {{"axis", orderedAxis(node, 2)},
                     {"descending", std::int64_t{needBool(node->input(3), "largest")}},
                     {"ties", std::string(needBool(node->input(4), "sorted") ? "topk" : "unsorted_topk")}};
  intOrRef(node->input(1), "k", spec, refs);
  return single(spec, {use(node->input(0))}, node->outputs().vec(), refs);
}

// sort and argsort(x, [stable,] dim, descending). Which of equal values comes first shows in the places alone.
LoweredOperand sorted(Steps& steps, Node* node, bool reads_places) {
  needOrdered(node->input(0));
  const std::size_t dim = node->inputs().size() - 2;
  const bool stable = dim == 2 && !isNone(node->input(1)) && needBool(node->input(1), "stable");
  std::map<std::string, AttrValue> attributes{
      {"axis", orderedAxis(node, dim)}, {"descending", std::int64_t{needBool(node->inputs().back(), "descending")}}};
  if (reads_places && !stable) attributes.emplace("ties", std::string("sort"));
  return steps.add(OpKind::kSort, std::move(attributes), {use(node->input(0))}, 2);
}
LoweredNode lowerSort(Node* node) {
  Steps steps;
  sorted(steps, node, node->output(1)->hasUses());
  return steps.finishAll(node);
}
LoweredNode lowerArgsort(Node* node) {
  Steps steps;
  LoweredOperand places = sorted(steps, node, true);
  places.result = 1;
  steps.same(places);
  return steps.finish(node);
}

// aten::cumsum(x, dim, dtype?)
LoweredNode lowerCumsum(Node* node) {
  Steps steps;
  const auto result = knownDtype(node->output());
  LoweredOperand x = use(node->input(0));
  if (result == at::kLong) {
    if (!isCountable(node->input(0)))
      decline(reasons::kUnsupportedDtype, "The sums are of another type than what is summed.");
    if (knownDtype(node->input(0)) != at::kLong) x = steps.cast(x, "s64");
  } else {
    needFloat(node->output());
    x = asFloat(steps, node->input(0));
  }
  steps.add(OpKind::kCumulativeSum, {{"axis", orderedAxis(node, 1)}}, {x});
  return steps.finish(node);
}

}  // namespace

LoweredNode extremesWithPlaces(Node* node, const char* mode) {
  needOrdered(node->input(0));
  const std::int64_t axis = orderedAxis(node, 1);
  Steps steps;
  steps.add(
      OpKind::kMaxMin,
      {{"mode", std::string(mode)}, {"axis", axis}, {"keepdim", std::int64_t{needBool(node->input(2), "keepdim")}}},
      {use(node->input(0))}, 2);
  return steps.finishAll(node);
}

void addOrderLowerings(Table& table) {
  table["aten::argmax"] = lowerArgmax;
  table["aten::argmin"] = lowerArgmin;
  table["aten::topk"] = lowerTopK;
  table["aten::sort"] = lowerSort;
  table["aten::argsort"] = lowerArgsort;
  table["aten::cumsum"] = lowerCumsum;
}

}  // namespace ipex_studio::lowering
