// Lowering of lookups by index (rows, elements, sampling grids), of indices that count up, and of masks made from them.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/lower/lowering_builder.h"

namespace ipex_studio::lowering {
namespace {

using torch::jit::Node;
using torch::jit::Value;
using Ints = std::vector<std::int64_t>;

void needIndex(const Value* value) {
  const auto dtype = knownDtype(value);
  if (dtype != at::kLong && dtype != at::kInt)
    decline(reasons::kUnsupportedDtype, "What a mask picks depends on the data.");
}

std::int64_t indexedAxis(Node* node) { return wrapAxis(needInt(node->input(1), "dim"), needRank(node->input(0))); }

// aten::index_select(x, dim, index)
LoweredNode lowerIndexSelect(Node* node) {
  if (needRank(node->input(0)) == 0 || needRank(node->input(2)) != 1)
    decline(reasons::kUnsupportedAttribute, "A scalar, or an index without a dimension.");
  Steps steps;
  steps.add(OpKind::kGather, {{"axis", indexedAxis(node)}}, {use(node->input(0)), use(node->input(2))});
  return steps.finish(node);
}

// aten::gather(x, dim, index, sparse_grad)
LoweredNode lowerGatherElements(Node* node) {
  if (needRank(node->input(0)) == 0 || needRank(node->input(2)) != needRank(node->input(0)))
    decline(reasons::kUnsupportedAttribute, "A scalar or an index of another rank.");
  Steps steps;
  steps.add(OpKind::kGatherElements, {{"axis", indexedAxis(node)}}, {use(node->input(0)), use(node->input(2))});
  return steps.finish(node);
}

// aten::index_add(x, dim, index, source, alpha)
LoweredNode lowerIndexAdd(Node* node) {
  Value *x = node->input(0), *index = node->input(2);
  needFloat(x);
  if (needRank(x) == 0 || needRank(index) != 1)
    decline(reasons::kUnsupportedAttribute, "A scalar, or an index without a dimension.");
  const double alpha = needNumber(node->input(4), "alpha");
  Steps steps;
  LoweredOperand updates = use(node->input(3));
  if (alpha != 1) updates = steps.chain({unaryPostOp(PostOpKind::kLinear, alpha, 0)}, {updates});
  steps.add(OpKind::kScatterElements, {{"axis", indexedAxis(node)}, {"reduction", std::string("add")}},
            {use(x), use(index), updates});
  return steps.finish(node);
}

// The operation's name of the reduction that PyTorch calls so.
std::string scatterReduction(Value* value) {
  static const std::map<std::string, std::string> names = {{"add", "add"},  {"sum", "add"},  {"multiply", "mul"},
                                                           {"prod", "mul"}, {"amax", "max"}, {"amin", "min"}};
  const auto text = torch::jit::constant_as<std::string>(value);
  if (!text) decline(reasons::kNotConstant, "'reduce' is computed at run time.");
  const auto found = names.find(*text);
  if (found == names.end())
    decline(reasons::kUnsupportedAttribute, "Means of what is scattered stay in the interpreter.");
  return found->second;
}

// x, dim, index and src of operators that write or combine elements; src may be a number. `attributes`: all but axis.
LoweredNode scattered(Node* node, std::map<std::string, AttrValue> attributes) {
  Value *x = node->input(0), *index = node->input(2), *updates = node->input(3);
  if (needRank(x) == 0 || needRank(index) != needRank(x))
    decline(reasons::kUnsupportedAttribute, "A scalar or an index of another rank.");
  Steps steps;
  LoweredOperand written = use(updates);
  if (updates->type()->isSubtypeOf(*c10::TensorType::get())) {
    // libtorch reads only the part of `src` that the index covers.
    if (knownSizes(updates) != knownSizes(index)) decline(reasons::kShapeMismatch, "Index and updates differ in size.");
  } else {
    needFloat(x);
    const double number = needNumber(updates, "value");
    written = steps.chain({binaryPostOp(PostOpKind::kFill, 0, number)},
                          {steps.cast(use(index), "f32"), use(at::ones({}, at::kFloat))});
  }
  if (attributes.count("reduction") != 0) needFloat(x);
  attributes["axis"] = indexedAxis(node);
  steps.add(OpKind::kScatterElements, std::move(attributes), {use(x), use(index), written});
  return steps.finish(node);
}

// aten::scatter(x, dim, index, src, reduce?)
LoweredNode lowerScatter(Node* node) {
  if (node->inputs().size() == 4) return scattered(node, {});
  return scattered(node, {{"reduction", scatterReduction(node->input(4))}});
}

// aten::scatter_add(x, dim, index, src)
LoweredNode lowerScatterAdd(Node* node) { return scattered(node, {{"reduction", std::string("add")}}); }

// aten::scatter_reduce(x, dim, index, src, reduce, include_self)
LoweredNode lowerScatterReduce(Node* node) {
  std::map<std::string, AttrValue> attributes{{"reduction", scatterReduction(node->input(4))}};
  if (!needBool(node->input(5), "include_self")) attributes["exclude_self"] = std::int64_t{1};
  return scattered(node, std::move(attributes));
}

// aten::index_copy(x, dim, index, source)
LoweredNode lowerIndexCopy(Node* node) {
  if (needRank(node->input(0)) == 0 || needRank(node->input(2)) != 1)
    decline(reasons::kUnsupportedAttribute, "A scalar, or an index without a dimension.");
  Steps steps;
  steps.add(OpKind::kScatterElements, {{"axis", indexedAxis(node)}},
            {use(node->input(0)), use(node->input(2)), use(node->input(3))});
  return steps.finish(node);
}

// The indices of neighbouring axes in a list of indices, and the first of the axes.
struct Places {
  std::vector<Value*> indices;
  std::int64_t axis = 0;
};

Places needNeighbours(Value* list) {
  Places places;
  std::int64_t at = 0;
  for (Value* index : needList(list)) {
    if (!isNone(index)) {
      needIndex(index);
      if (places.indices.empty()) places.axis = at;
      if (at != places.axis + static_cast<std::int64_t>(places.indices.size()))
        decline(reasons::kUnsupportedAttribute, "Indices of axes that are not neighbours.");
      places.indices.push_back(index);
    }
    ++at;
  }
  if (places.indices.empty()) decline(reasons::kUnsupportedAttribute, "No index at all.");
  return places;
}

// All of x along the axis, which has the size that was seen: indices are checked against that.
LoweredOperand wholeAxis(Steps& steps, const LoweredOperand& x, std::int64_t axis, std::int64_t size) {
  return steps.add(OpKind::kSlice,
                   {{"axis", axis}, {"begin", std::int64_t{0}}, {"end", size}, {"of", size}, {"step", std::int64_t{1}}},
                   {x});
}

// The index, checked and counted from the front by a lookup in the list of valid ones.
LoweredOperand placeOf(Steps& steps, const LoweredOperand& index, std::int64_t size) {
  return steps.add(OpKind::kGather, {{"axis", std::int64_t{0}}, {"wrap", std::int64_t{1}}},
                   {use(at::arange(size, at::kLong)), index});
}

// Indices of neighbouring axes that have all the same sizes, and a dimension.
Places needPlaces(Value* list) {
  Places places = needNeighbours(list);
  for (const Value* index : places.indices) {
    if (needRank(index) == 0 || knownSizes(index) != knownSizes(places.indices.front()))
      decline(reasons::kUnsupportedAttribute, "An index without a dimension, or indices of several sizes.");
  }
  return places;
}

// Writes values to the places that indices name on neighbouring axes, or adds them there: those axes become one.
class IndexWriter {
 public:
  IndexWriter(Value* x, const Places& places) : sizes_(*knownSizes(x)), places_(places), x_(use(x)) {}

  // All of x, with the indexed axes as one.
  LoweredOperand whole() {
    for (std::size_t i = 0; i < places_.indices.size(); ++i) {
      x_ = wholeAxis(steps_, x_, axisOf(i), sizeOf(i));
    }
    return flatten(x_, static_cast<std::int64_t>(places_.indices.size()));
  }

  LoweredOperand places() {
    LoweredOperand flat;
    for (std::size_t i = 0; i < places_.indices.size(); ++i) {
      LoweredOperand index = use(places_.indices[i]);
      if (needRank(places_.indices[i]) > 1) index = steps_.add(OpKind::kReshape, {{"shape", Ints{-1}}}, {index});
      const LoweredOperand place = placeOf(steps_, index, sizeOf(i));
      flat = i == 0 ? place : steps_.integers("add", steps_.integers("mul", flat, sizeOf(i)), place);
    }
    return flat;
  }

  // The same value for each place: what the places hold gives the sizes, and none of its numbers.
  LoweredOperand writtenEverywhere(Value* value, const LoweredOperand& whole, const LoweredOperand& places) {
    const LoweredOperand old = steps_.add(OpKind::kGather, {{"axis", places_.axis}}, {whole, places});
    return steps_.chain({binaryPostOp(PostOpKind::kFill, 0, 0), binaryPostOp(PostOpKind::kAdd, 1)},
                        {old, use(at::ones({}, at::kFloat)), use(value)});
  }

  LoweredOperand written(Value* values) { return flatten(use(values), needRank(places_.indices.front())); }

  LoweredNode finish(Node* node, bool adds, const LoweredOperand& whole, const LoweredOperand& places,
                     const LoweredOperand& values) {
    std::map<std::string, AttrValue> attributes{{"axis", places_.axis}};
    if (adds) attributes["reduction"] = std::string("add");
    const LoweredOperand result = steps_.add(OpKind::kScatterElements, attributes, {whole, places, values});
    if (places_.indices.size() == 1) return steps_.finish(node);
    Ints shape = sizes_;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      const auto from_first = static_cast<std::int64_t>(axis) - places_.axis;
      if (from_first >= 0 && from_first < static_cast<std::int64_t>(places_.indices.size())) continue;
      shape[axis] = -1;  // one axis of any size
      break;
    }
    steps_.add(OpKind::kReshape, {{"shape", shape}}, {result});
    return steps_.finish(node);
  }

 private:
  std::int64_t axisOf(std::size_t index) const { return places_.axis + static_cast<std::int64_t>(index); }
  std::int64_t sizeOf(std::size_t index) const { return sizes_[static_cast<std::size_t>(axisOf(index))]; }
  // The given number of axes from the first indexed one on as one.
  LoweredOperand flatten(LoweredOperand x, std::int64_t axes) {
    if (axes == 1) return x;
    return steps_.add(OpKind::kReshape, {{"flatten_begin", places_.axis}, {"flatten_end", places_.axis + axes - 1}},
                      {std::move(x)});
  }

  Steps steps_;
  Ints sizes_;
  const Places& places_;
  LoweredOperand x_;
};

// True if `value` has at most the axes of x from `first` on, and broadcasts to them.
bool fitsBehind(const Ints& value, const Ints& x, std::int64_t first) {
  if (static_cast<std::int64_t>(value.size()) > static_cast<std::int64_t>(x.size()) - first) return false;
  return std::equal(value.rbegin(), value.rend(), x.rbegin(),
                    [](std::int64_t one, std::int64_t whole) { return one == 1 || one == whole; });
}

// aten::index_put(x, indices?[], values, accumulate), as in keys[:, :, places] = key and grid[rows, columns] += value
LoweredNode lowerIndexPut(Node* node) {
  Value *const x = node->input(0), *const values = node->input(2);
  const bool adds = needBool(node->input(3), "accumulate");
  if (adds) needFloat(x);
  const Places places = needPlaces(node->input(1));
  const auto indexed = static_cast<std::int64_t>(places.indices.size());
  if (places.axis + indexed > needRank(x)) decline(reasons::kUnsupportedAttribute, "More indices than dimensions.");
  Ints written = *knownSizes(x);
  const Ints picked = *knownSizes(places.indices.front());
  written.erase(written.begin() + places.axis, written.begin() + places.axis + indexed);
  written.insert(written.begin() + places.axis, picked.begin(), picked.end());
  const bool one_for_all = knownSizes(values) != written;
  if (one_for_all && !fitsBehind(*knownSizes(values), *knownSizes(x), places.axis + indexed))
    decline(reasons::kShapeMismatch, "Index and updates differ in size.");
  IndexWriter writer(x, places);
  const LoweredOperand whole = writer.whole(), flat = writer.places();
  const LoweredOperand updates = one_for_all ? writer.writtenEverywhere(values, whole, flat) : writer.written(values);
  return writer.finish(node, adds, whole, flat, updates);
}

// Builds x[…, i, …] and x[i, j]: an index in the place of one axis, or of several neighbouring ones.
class IndexBuilder {
 public:
  IndexBuilder(Value* x, std::int64_t axis) : x_(use(x)), sizes_(*knownSizes(x)), axis_(axis) {}

  void pick(const std::vector<Value*>& indices) {
    LoweredOperand flat = use(indices[0]);
    for (std::size_t i = 1; i < indices.size(); ++i) {
      // Strides of the joint axis are made of the sizes that were seen; the size of its first axis does not enter.
      const std::int64_t axis = axis_ + static_cast<std::int64_t>(i), size = sizes_[static_cast<std::size_t>(axis)];
      x_ = wholeAxis(steps_, x_, axis, size);
      const LoweredOperand place = placeOf(steps_, use(indices[i]), size);
      flat = steps_.integers("add", steps_.integers("mul", flat, use(at::scalar_tensor(size, at::kLong))), place);
    }
    if (indices.size() > 1)
      x_ = steps_.add(
          OpKind::kReshape,
          {{"flatten_begin", axis_}, {"flatten_end", axis_ + static_cast<std::int64_t>(indices.size()) - 1}}, {x_});
    steps_.add(OpKind::kGather, {{"axis", axis_}, {"wrap", std::int64_t{1}}}, {x_, flat});
  }

  LoweredNode finish(Node* node) { return steps_.finish(node); }

 private:
  Steps steps_;
  LoweredOperand x_;
  Ints sizes_;
  std::int64_t axis_;
};

// aten::index(x, indices?[])
LoweredNode lowerIndex(Node* node) {
  if (needRank(node->input(0)) == 0) decline(reasons::kUnsupportedAttribute, "A scalar has no dimensions.");
  const Places places = needNeighbours(node->input(1));
  IndexBuilder builder(node->input(0), places.axis);
  builder.pick(places.indices);
  return builder.finish(node);
}

// aten::one_hot(i, num_classes): rows of the unit matrix, which also checks i.
LoweredNode lowerOneHot(Node* node) {
  needIndex(node->input(0));
  const std::int64_t classes = needInt(node->input(1), "num_classes");
  if (classes < 1) decline(reasons::kUnsupportedAttribute, "The number of classes depends on the data.");
  Steps steps;
  steps.add(OpKind::kGather, {{"axis", std::int64_t{0}}}, {use(at::eye(classes, at::kLong)), use(node->input(0))});
  return steps.finish(node);
}

// aten::affine_grid_generator(theta, [N, C, H, W], align_corners)
LoweredNode lowerAffineGrid(Node* node) {
  if (knownDtype(node->input(0)) != at::kFloat)
    decline(reasons::kUnsupportedDtype, "Plans compute grids of images in FP32.");
  const auto constant = constantInts(node->input(1));
  const std::vector<Value*> entries = constant ? std::vector<Value*>() : needList(node->input(1));
  if ((constant ? constant->size() : entries.size()) != 4)
    decline(reasons::kUnsupportedAttribute, "Volumes stay in the interpreter.");
  Ints output(2, 0);
  std::vector<LoweredRef> refs;
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const auto size = constant ? std::optional<std::int64_t>((*constant)[axis + 2]) : constantInt(entries[axis + 2]);
    output[axis] = size.value_or(0);
    if (!size) refs.push_back({"output", static_cast<std::int32_t>(axis), entries[axis + 2]});
  }
  Steps steps;
  steps.add(OpKind::kAffineGrid,
            {{"align_corners", std::int64_t{needBool(node->input(2), "align_corners")}}, {"output", output}},
            {use(node->input(0))});
  for (LoweredRef& ref : refs) steps.addRef(std::move(ref));
  return steps.finish(node);
}

// aten::grid_sampler(x, grid, mode, padding, align_corners)
LoweredNode lowerGridSampler(Node* node) {
  needFloat(node->input(0));
  needFloat(node->input(1));
  if (needRank(node->input(0)) != 4) decline(reasons::kUnsupportedAttribute, "Volumes stay in the interpreter.");
  const std::int64_t mode = needInt(node->input(2), "interpolation_mode"),
                     padding = needInt(node->input(3), "padding_mode");
  if (mode > 1) decline(reasons::kUnsupportedAttribute, "Bicubic sampling stays in the interpreter.");
  if (padding > 1) decline(reasons::kUnsupportedAttribute, "Sampling with reflection stays in the interpreter.");
  Steps steps;
  steps.add(OpKind::kGridSample,
            {{"mode", std::string(mode == 0 ? "bilinear" : "nearest")},
             {"padding", std::string(padding == 0 ? "zeros" : "border")},
             {"align_corners", std::int64_t{needBool(node->input(4), "align_corners")}}},
            {use(node->input(0)), use(node->input(1))});
  return steps.finish(node);
}

// Counts 1, 2, 3 … up to an integer of the graph, which may be known at run time only; computed once for each size.
LoweredOperand countedTo(Steps& steps, Value* end, at::ScalarType dtype) {
  const auto known = constantInt(end);
  LoweredOperand ones = steps.add(OpKind::kExpand, {{"shape", Ints{known.value_or(0)}}}, {use(at::ones({1}, dtype))});
  if (!known) steps.addRef({"shape", 0, end});
  return steps.add(OpKind::kCumulativeSum, {{"axis", std::int64_t{0}}}, {ones});
}

// aten::arange(end, dtype, …), (start, end, dtype, …) or (start, end, step, dtype, …) up to an integer: the cumulative
// sum of ones, less one, from `start` on. All three may be known at run time only; computed once for each size.
LoweredNode lowerArange(Node* node) {
  const std::size_t numbers = node->inputs().size() - 4;
  if (numbers < 1 || numbers > 3) decline(reasons::kUnsupportedAttribute, "This form stays in the interpreter.");
  Value* const end = node->input(numbers == 1 ? 0 : 1);
  // A start that is known at run time only is at least 0, or the slice has no sizes.
  Value* const given_start = numbers == 1 ? nullptr : node->input(0);
  // A constant start may have a fraction, which all numbers share: the first integer of the count is below it, as the
  // last is below an integer end.
  const double start = given_start == nullptr ? 0 : constantNumber(given_start).value_or(-1);
  constexpr double kExact = 1 << 24;  // up to here FP32 holds every integer
  const bool knows_start = start >= 0 && start <= kExact;
  const auto first = knows_start ? static_cast<std::int64_t>(start) : 0;
  const double fraction = knows_start ? start - static_cast<double>(first) : 0;
  // A step that is known at run time only is at least 1, or the slice has no sizes.
  Value* const given_step = numbers == 3 ? node->input(2) : nullptr;
  const auto known_step = given_step == nullptr ? std::optional<std::int64_t>(1) : constantInt(given_step);
  const auto isInt = [](const Value* value) { return value->type()->isSubtypeOf(*c10::IntType::get()); };
  const bool whole = isInt(end) && (knows_start || (isInt(given_start) && !constantInt(given_start))) &&
                     (known_step ? *known_step >= 1 : isInt(given_step));
  const auto dtype = knownDtype(node->output());
  if (!whole || (dtype != at::kLong && dtype != at::kFloat) || (fraction != 0 && dtype != at::kFloat) ||
      (fraction != 0 && known_step != 1))
    decline(reasons::kUnsupportedAttribute, "Only ranges of integers from zero or more on are planned.");
  Steps steps;
  LoweredOperand x = steps.integers("sub", countedTo(steps, end, at::kLong), use(at::scalar_tensor(1, at::kLong)));
  if (!knows_start || first != 0 || known_step != 1) {
    constexpr std::int64_t kAll = std::numeric_limits<std::int64_t>::max();
    std::map<std::string, AttrValue> range{
        {"axis", std::int64_t{0}}, {"begin", first}, {"end", kAll}, {"step", known_step.value_or(1)}};
    if (!knows_start) range["forward"] = std::int64_t{1};
    x = steps.add(OpKind::kSlice, range, {x});
    if (!knows_start) steps.addRef({"begin", -1, given_start});
    if (!known_step) steps.addRef({"step", -1, given_step});
  }
  if (dtype == at::kFloat) x = steps.cast(x, "f32");
  if (fraction != 0) steps.chain({unaryPostOp(PostOpKind::kLinear, 1, fraction)}, {x});
  return steps.finish(node);
}

// prim::NumToTensor(size): a constant of a plan for known sizes
LoweredNode lowerNumber(Node* node) {
  if (!node->input()->type()->isSubtypeOf(*c10::IntType::get()))
    decline(reasons::kUnsupportedDtype, "Only integers become tensors in plans.");
  Steps steps;
  steps.integer(node->input());
  return steps.finish(node);
}

// Counts 1, 2, 3 … in floats along an axis of `x`, with size 1 along the others. Depends on sizes alone, so it is
// computed once for each.
LoweredOperand countedAlong(Steps& steps, const LoweredOperand& x, int axis, int rank) {
  return steps.add(OpKind::kCumulativeSum, {{"axis", std::int64_t{axis}}}, {onesAlong(steps, x, {axis}, rank)});
}

// aten::flip(x, dims): reads each axis from its end on, by indices that are computed once for each size.
LoweredNode lowerFlip(Node* node) {
  const int rank = needRank(node->input(0));
  const Ints axes = needInts(node->input(1), "dims");
  if (axes.empty()) decline(reasons::kUnsupportedAttribute, "No axis is turned around.");
  Steps steps;
  LoweredOperand x = use(node->input(0));
  const LoweredOperand numbers = asFloat(steps, node->input(0));
  for (const std::int64_t given : axes) {
    const int axis = wrapAxis(given, rank);
    // Counted from the end: n - 1, n - 2, … 0, as sizes of sums of ones.
    const LoweredOperand ones = onesAlong(steps, numbers, {axis}, rank);
    const LoweredOperand counted = steps.add(OpKind::kCumulativeSum, {{"axis", std::int64_t{axis}}}, {ones});
    const LoweredOperand all = steps.add(
        OpKind::kReduce, {{"axes", Ints{axis}}, {"keepdim", std::int64_t{1}}, {"mode", std::string("sum")}}, {ones});
    const LoweredOperand places = steps.cast(steps.chain({binaryPostOp(PostOpKind::kSub, 0)}, {all, counted}), "s64");
    const LoweredOperand line = steps.add(OpKind::kReshape, {{"shape", Ints{-1}}}, {places});
    x = steps.add(OpKind::kGather, {{"axis", std::int64_t{axis}}}, {x, line});
  }
  return steps.finish(node);
}

// aten::triu / tril(x, diagonal): elements that are not on `side` (kGe, kLe) of the diagonal become zero. The diagonal
// may be known at run time only.
LoweredNode triangle(Node* node, PostOpKind side) {
  Value* const x = node->input(0);
  const int rank = needRank(x);
  const auto dtype = knownDtype(x);
  if (rank < 2) decline(reasons::kUnsupportedAttribute, "A line has no diagonal.");
  if (dtype != at::kFloat && dtype != at::kLong && dtype != at::kBool)
    decline(reasons::kUnsupportedDtype, "Triangles of this type stay in the interpreter.");
  Steps steps;
  const auto known = constantInt(node->input(1));
  const LoweredOperand diagonal = known ? use(at::scalar_tensor(static_cast<double>(*known), at::kFloat))
                                        : steps.cast(steps.integer(node->input(1)), "f32");
  const LoweredOperand numbers = asFloat(steps, x);
  const LoweredOperand column = countedAlong(steps, numbers, rank - 1, rank),
                       row = countedAlong(steps, numbers, rank - 2, rank);
  const LoweredOperand kept =
      steps.chain({binaryPostOp(PostOpKind::kSub, 0), binaryPostOp(side, 1)}, {column, row, diagonal});
  if (dtype == at::kLong) {
    steps.integers("mul", use(x), steps.cast(kept, "bool"));
    return steps.finish(node);
  }
  const LoweredOperand result = steps.chain({binaryPostOp(PostOpKind::kKeep, 0, 0)}, {numbers, kept});
  if (dtype == at::kBool) steps.cast(result, "bool");
  return steps.finish(node);
}
LoweredNode lowerTriu(Node* node) { return triangle(node, PostOpKind::kGe); }
LoweredNode lowerTril(Node* node) { return triangle(node, PostOpKind::kLe); }

// aten::linspace(start, end, steps, dtype, …), where the number of steps may be known at run time only.
LoweredNode lowerLinspace(Node* node) {
  const double start = needNumber(node->input(0), "start"), end = needNumber(node->input(1), "end");
  if (knownDtype(node->output()) != at::kFloat)
    decline(reasons::kUnsupportedDtype, "Lines of integers stay in the interpreter.");
  Value* const count = node->input(2);
  const auto known = constantInt(count);
  Steps steps;
  const LoweredOperand x = countedTo(steps, count, at::kFloat);
  LoweredOperand last =
      known ? use(at::scalar_tensor(static_cast<double>(*known), at::kFloat)) : steps.cast(steps.integer(count), "f32");
  // A single number is the start: 0 steps, of any width.
  last = steps.chain({unaryPostOp(PostOpKind::kLinear, 1, -1),
                      unaryPostOp(PostOpKind::kClip, 1, std::numeric_limits<double>::infinity())},
                     {last});
  steps.chain({unaryPostOp(PostOpKind::kLinear, 1, -1), binaryPostOp(PostOpKind::kDiv, 0),
               unaryPostOp(PostOpKind::kLinear, end - start, start)},
              {x, last});
  return steps.finish(node);
}

// Spreads line `i` of aten::meshgrid over the grid of the others, whose zeros take part only for their sizes.
void spreadLine(Steps& steps, const std::vector<Value*>& lines, std::size_t i, bool crossed) {
  const auto placed = [&](std::size_t l) {
    const std::size_t own = crossed && l < 2 ? 1 - l : l;
    LoweredOperand line = use(lines[l]);
    for (std::size_t axis = 0; axis < lines.size(); ++axis) {
      if (axis != own) line = steps.add(OpKind::kUnsqueeze, {{"axis", static_cast<std::int64_t>(axis)}}, {line});
    }
    return line;
  };
  LoweredOperand result = placed(i);
  for (std::size_t other = 0; other < lines.size(); ++other) {
    if (other == i) continue;
    const LoweredOperand line = placed(other);
    if (isCountable(lines[i])) {
      result = steps.integers("add", result, steps.integers("lt", line, line));
    } else {
      const LoweredOperand zeros = steps.chain({binaryPostOp(PostOpKind::kLt, 0)}, {line, line});
      result = steps.chain({binaryPostOp(PostOpKind::kFill, 0, 0)}, {result, zeros});
    }
  }
}

}  // namespace

// aten::meshgrid(lines, indexing?)
LoweredNode lowerMeshgrid(Node* grid, Node* reader) {
  const std::vector<Value*> lines = needList(grid->input(0));
  std::string indexing = "ij";
  if (grid->inputs().size() > 1) indexing = torch::jit::constant_as<std::string>(grid->input(1)).value_or("");
  if (indexing != "ij" && indexing != "xy")
    decline(reasons::kUnsupportedAttribute, "This form stays in the interpreter.");
  if (lines.size() < 2) decline(reasons::kUnsupportedAttribute, "A grid of one line.");
  const auto count = static_cast<std::int64_t>(lines.size());
  const bool whole = reader->outputs().size() == lines.size();
  const std::int64_t given = whole ? 0 : needInt(reader->input(1), "index"), only = given < 0 ? given + count : given;
  if (only < 0 || only >= count) decline(reasons::kUnsupportedAttribute, "The index is out of range.");
  for (const Value* line : lines) {
    if (knownDtype(line) != knownDtype(lines[0])) decline(reasons::kMixedDtype, "Its lines are of several types.");
    if (knownDtype(line) != at::kLong) needFloat(line);
    if (needRank(line) != 1) decline(reasons::kUnsupportedAttribute, "A line of a grid without a dimension.");
  }
  Steps steps;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (!whole && i != static_cast<std::size_t>(only)) continue;
    spreadLine(steps, lines, i, indexing == "xy");
    steps.give(reader->output(whole ? i : 0));
  }
  return steps.done();
}

void addIndexingLowerings(Table& table) {
  table["aten::index_select"] = lowerIndexSelect;
  table["aten::gather"] = lowerGatherElements;
  table["aten::scatter"] = lowerScatter;
  table["aten::scatter_add"] = lowerScatterAdd;
  table["aten::scatter_reduce"] = lowerScatterReduce;
  table["aten::index_copy"] = lowerIndexCopy;
  table["aten::index_put"] = lowerIndexPut;
  table["aten::index_add"] = lowerIndexAdd;
  table["aten::index"] = lowerIndex;
  table["aten::one_hot"] = lowerOneHot;
  table["aten::grid_sampler"] = lowerGridSampler;
  table["aten::affine_grid_generator"] = lowerAffineGrid;
  table["aten::arange"] = lowerArange;
  table["prim::NumToTensor"] = lowerNumber;
  table["aten::flip"] = lowerFlip;
  table["aten::triu"] = lowerTriu;
  table["aten::tril"] = lowerTril;
  table["aten::linspace"] = lowerLinspace;
}

}  // namespace ipex_studio::lowering
