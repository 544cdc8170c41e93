// Lowering of operators that become several operations in a row: norms, variances, gates, stacks, rolls, padding. One
// concept in spite of its length: each function is one such operator, and they share the helpers at the top.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/lower/lowering_builder.h"

namespace ipex_studio::lowering {
namespace {

using torch::jit::Node;
using torch::jit::Value;
using Ints = std::vector<std::int64_t>;

OpSpec pointwise(std::vector<PostOp> ops) {
  OpSpec spec;
  spec.kind = OpKind::kPointwise;
  spec.post_ops = std::move(ops);
  return spec;
}

OpSpec reduce(const char* mode, const Ints& axes, bool keepdim) {
  OpSpec spec;
  spec.kind = OpKind::kReduce;
  spec.attributes = {{"mode", std::string(mode)}, {"axes", axes}, {"keepdim", std::int64_t{keepdim}}};
  return spec;
}

// The axes of a reduction; all of them for None or an empty list.
Ints axesOf(Value* list, int rank) {
  Ints axes;
  for (std::int64_t axis : isNone(list) ? Ints{} : needInts(list, "dim")) axes.push_back(wrapAxis(axis, rank));
  if (axes.empty()) {
    axes.resize(static_cast<std::size_t>(rank));
    std::iota(axes.begin(), axes.end(), 0);
  }
  return axes;
}

void needNoDtype(Node* node, std::size_t input) {
  if (node->inputs().size() > input && !isNone(node->input(input)))
    decline(reasons::kUnsupportedDtype, "A result of another type stays in the interpreter.");
}

// The chain before the sum of a norm, what reduces, and the chain behind it.
struct NormForm {
  std::vector<PostOp> first;
  const char* mode = "sum";
  std::vector<PostOp> last;
};

NormForm normForm(double order) {
  const PostOp abs = unaryPostOp(PostOpKind::kAbs);
  // The largest of no element is -inf and the norm 0; so it is with the smallest, for which no chain does that.
  if (std::isinf(order) && order < 0)
    decline(reasons::kUnsupportedAttribute, "The smallest absolute as a norm stays in the interpreter.");
  if (std::isinf(order)) return {{abs}, "max", {unaryPostOp(PostOpKind::kRelu)}};
  if (order == 1) return {{abs}, "sum", {}};
  if (order == 2) return {{unaryPostOp(PostOpKind::kSquare)}, "sum", {unaryPostOp(PostOpKind::kSqrt)}};
  if (order == 0) return {{binaryPostOp(PostOpKind::kNe, 0)}, "sum", {}};
  return {{abs, unaryPostOp(PostOpKind::kPow, order)}, "sum", {unaryPostOp(PostOpKind::kPow, 1 / order)}};
}

LoweredNode normOver(Node* node, double order, const Ints& axes, bool keepdim) {
  Value* const x = node->input(0);
  needFloat(x);
  if (axes.empty()) decline(reasons::kUnsupportedAttribute, "The norm of a scalar stays in the interpreter.");
  const NormForm form = normForm(order);
  std::vector<LoweredOperand> operands{use(x)};
  if (order == 0) operands.push_back(use(at::zeros({}, at::kFloat)));
  Steps steps;
  const LoweredOperand parts = steps.chain(form.first, operands);
  const LoweredOperand whole = steps.add(OpKind::kReduce, reduce(form.mode, axes, keepdim).attributes, {parts});
  if (!form.last.empty()) steps.chain(form.last, {whole});
  return steps.finish(node);
}

Ints allAxes(const Value* x) {
  Ints axes(static_cast<std::size_t>(needRank(x)));
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

double orderOf(Value* value) { return isNone(value) ? 2 : needNumber(value, "ord"); }

// aten::norm(x, p), aten::norm(x, p, dim, keepdim, dtype) and aten::linalg_vector_norm(x, ord, dim, keepdim, dtype)
LoweredNode lowerNorm(Node* node) {
  if (node->inputs().size() == 2) return normOver(node, orderOf(node->input(1)), allAxes(node->input(0)), false);
  if (node->inputs().size() < 4) decline(reasons::kUnsupportedAttribute, "This form of norm stays in the interpreter.");
  needNoDtype(node, 4);
  return normOver(node, orderOf(node->input(1)), axesOf(node->input(2), needRank(node->input(0))),
                  needBool(node->input(3), "keepdim"));
}

// aten::frobenius_norm(x) and aten::frobenius_norm(x, dim, keepdim)
LoweredNode lowerFrobeniusNorm(Node* node) {
  if (node->inputs().size() == 1) return normOver(node, 2, allAxes(node->input(0)), false);
  return normOver(node, 2, axesOf(node->input(1), needRank(node->input(0))), needBool(node->input(2), "keepdim"));
}

// aten::linalg_norm and aten::linalg_matrix_norm(x, ord, dim, keepdim, dtype), where they are norms of vectors: over
// one axis, or of second order over any.
LoweredNode lowerLinalgNorm(Node* node) {
  if (node->inputs().size() != 5)
    decline(reasons::kUnsupportedAttribute, "This form of norm stays in the interpreter.");
  needNoDtype(node, 4);
  Value* const order = node->input(1);
  const bool named = order->type()->kind() == c10::TypeKind::StringType;
  const bool second = named ? torch::jit::constant_as<std::string>(order) == "fro" : isNone(order);
  const Ints axes = axesOf(node->input(2), needRank(node->input(0)));
  if (!second && (named || axes.size() != 1))
    decline(reasons::kUnsupportedAttribute, "Norms of matrices stay in the interpreter.");
  return normOver(node, second ? 2 : orderOf(order), axes, needBool(node->input(3), "keepdim"));
}

// aten::logsumexp(x, dim[], keepdim): max + log(sum(exp(x - max)))
LoweredNode lowerLogSumExp(Node* node) {
  needFloat(node->input(0));
  const Ints axes = axesOf(node->input(1), needRank(node->input(0)));
  constexpr double kHighest = std::numeric_limits<float>::max();
  Steps steps;
  LoweredOperand highest = steps.add(OpKind::kReduce, reduce("max", axes, true).attributes, {use(node->input(0))});
  // An infinite maximum would turn into NaN when subtracted from itself.
  highest = steps.chain({unaryPostOp(PostOpKind::kClip, -kHighest, kHighest)}, {highest});
  const LoweredOperand powers =
      steps.chain({binaryPostOp(PostOpKind::kSub, 0), unaryPostOp(PostOpKind::kExp)}, {use(node->input(0)), highest});
  const LoweredOperand sum = steps.add(OpKind::kReduce, reduce("sum", axes, true).attributes, {powers});
  const LoweredOperand result =
      steps.chain({unaryPostOp(PostOpKind::kLog), binaryPostOp(PostOpKind::kAdd, 0)}, {sum, highest});
  if (!needBool(node->input(2), "keepdim")) steps.add(OpKind::kSqueeze, {{"axes", axes}}, {result});
  return steps.finish(node);
}

// The number of elements along the axes, as a tensor that broadcasts against the reduced `x`.
LoweredOperand countOf(Steps& steps, const LoweredOperand& x, const Ints& axes, int rank, bool keepdim) {
  return steps.add(OpKind::kReduce, reduce("sum", axes, keepdim).attributes, {onesAlong(steps, x, axes, rank)});
}

// The correction subtracted from the number of elements; 1 if none is given.
double correctionOf(Value* value) {
  if (isNone(value)) return 1;
  return value->type()->kind() == c10::TypeKind::BoolType ? (needBool(value, "unbiased") ? 1 : 0)
                                                          : needNumber(value, "correction");
}

// aten::var / std(x, dim?, unbiased, keepdim), or correction in the place of unbiased
LoweredNode spread(Node* node, bool root) {
  Value* const input = node->input(0);
  needFloat(input);
  if (node->inputs().size() != 4)
    decline(reasons::kUnsupportedAttribute, "The variance of all elements stays in the interpreter.");
  const int rank = needRank(input);
  const Ints axes = axesOf(node->input(1), rank);
  const double correction = correctionOf(node->input(2));
  const bool keepdim = needBool(node->input(3), "keepdim");
  Steps steps;
  const LoweredOperand mean = steps.add(OpKind::kReduce, reduce("mean", axes, true).attributes, {use(input)});
  const LoweredOperand squares =
      steps.chain({binaryPostOp(PostOpKind::kSub, 0), unaryPostOp(PostOpKind::kSquare)}, {use(input), mean});
  LoweredOperand result =
      steps.add(OpKind::kReduce, reduce(correction == 0 ? "mean" : "sum", axes, keepdim).attributes, {squares});
  if (correction != 0) {
    const LoweredOperand count = countOf(steps, use(input), axes, rank, keepdim);
    const PostOp taken = unaryPostOp(PostOpKind::kLinear, 1, -correction),
                 at_least_none = unaryPostOp(PostOpKind::kClip, 0, std::numeric_limits<double>::infinity());
    result = steps.chain({binaryPostOp(PostOpKind::kDiv, 0)}, {result, steps.chain({taken, at_least_none}, {count})});
  }
  if (root) steps.chain({unaryPostOp(PostOpKind::kSqrt)}, {result});
  return steps.finish(node);
}
LoweredNode lowerVar(Node* node) { return spread(node, false); }
LoweredNode lowerStd(Node* node) { return spread(node, true); }

// aten::amax / amin(x, dim[], keepdim); aten::max / min(x, dim, keepdim), of all elements, of two tensors
LoweredNode extreme(Node* node, const char* mode) {
  if (node->inputs().size() == 2) {
    if (const auto integers = lowerIntegerMath(node)) return *integers;
  }
  const bool places = node->outputs().size() > 1 && (node->output(1)->hasUses() || isCountable(node->input(0)));
  if (places) return extremesWithPlaces(node, mode);
  needFloat(node->input(0));
  const int rank = needRank(node->input(0));
  if (node->inputs().size() == 1) {
    Ints all(static_cast<std::size_t>(rank));
    std::iota(all.begin(), all.end(), 0);
    return single(reduce(mode, all, false), {use(node->input(0))}, {node->output()});
  }
  if (node->inputs().size() == 2) {
    needFloat(node->input(1));
    const PostOpKind kind = std::string(mode) == "max" ? PostOpKind::kMax : PostOpKind::kMin;
    return single(pointwise({binaryPostOp(kind, 0)}), {use(node->input(0)), use(node->input(1))}, {node->output()});
  }
  if (node->inputs().size() != 3) decline(reasons::kUnsupportedOperator, "This form stays in the interpreter.");
  return single(reduce(mode, axesOf(node->input(1), rank), needBool(node->input(2), "keepdim")), {use(node->input(0))},
                {node->output(0)});
}
LoweredNode lowerMax(Node* node) { return extreme(node, "max"); }
LoweredNode lowerMin(Node* node) { return extreme(node, "min"); }

// aten::instance_norm(x, weight?, bias?, mean?, var?, use_input_stats, momentum, eps, cudnn_enabled)
LoweredNode lowerInstanceNorm(Node* node) {
  needFloat(node->input(0));
  if (!needBool(node->input(5), "use_input_stats"))
    decline(reasons::kUnsupportedAttribute, "Running statistics stay in the interpreter.");
  for (const std::size_t running : {3, 4}) {
    // Not even the schema says that the operator writes into them.
    const Value* statistics = node->input(running);
    if (!isNone(statistics) && !constantTensor(statistics))
      decline(reasons::kUnsupportedAttribute, "Running statistics that it updates stay in the interpreter.");
  }
  const auto sizes = knownSizes(node->input(0));
  if (!sizes || sizes->size() < 3) decline(reasons::kUnknownShape, "The channels were not seen in the example run.");
  OpSpec spec;
  spec.kind = OpKind::kGroupNorm;
  spec.attributes = {{"groups", (*sizes)[1]}, {"channels", (*sizes)[1]}, {"eps", needNumber(node->input(7), "eps")}};
  return single(spec, {use(node->input(0)), use(node->input(1)), use(node->input(2))}, {node->output()});
}

// aten::prelu(x, weight): max(x, 0) + weight · min(x, 0)
LoweredNode lowerPrelu(Node* node) {
  needFloat(node->input(0));
  const int rank = needRank(node->input(0));
  const auto weight = constantTensor(node->input(1));
  if (!weight) decline(reasons::kNotConstant, "'weight' is not constant.");
  Ints sizes(static_cast<std::size_t>(rank), 1);
  if (rank > 1) sizes[1] = weight->numel();
  if (rank < 2 && weight->numel() != 1) decline(reasons::kUnsupportedAttribute, "A slope per channel needs channels.");
  LoweredNode lowered;
  const PostOp negative = unaryPostOp(PostOpKind::kClip, -std::numeric_limits<double>::infinity(), 0);
  lowered.ops.push_back({pointwise({negative, binaryPostOp(PostOpKind::kMul, 0)}),
                         {use(node->input(0)), use(weight->detach().to(at::kFloat).reshape(sizes).contiguous())},
                         {},
                         {}});
  lowered.ops.push_back({pointwise({unaryPostOp(PostOpKind::kRelu), binaryPostOp(PostOpKind::kAdd, 0)}),
                         {use(node->input(0)), useLocal(0)},
                         {},
                         {node->output()}});
  return lowered;
}

// aten::selu(x): 1.0507 · elu(x, 1.67326)
LoweredNode lowerSelu(Node* node) {
  needFloat(node->input(0));
  constexpr double kAlpha = 1.6732632423543772848170429916717, kScale = 1.0507009873554804934193349852946;
  return single(pointwise({unaryPostOp(PostOpKind::kElu, kAlpha), unaryPostOp(PostOpKind::kLinear, kScale, 0)}),
                {use(node->input(0))}, {node->output()});
}

LoweredNode logarithmTo(Node* node, double base) {
  needFloat(node->input(0));
  return single(pointwise({unaryPostOp(PostOpKind::kLog), unaryPostOp(PostOpKind::kLinear, 1 / std::log(base), 0)}),
                {use(node->input(0))}, {node->output()});
}
LoweredNode lowerLog2(Node* node) { return logarithmTo(node, 2); }
LoweredNode lowerLog10(Node* node) { return logarithmTo(node, 10); }

// aten::log_sigmoid(x): -softplus(-x)
LoweredNode lowerLogSigmoid(Node* node) {
  needFloat(node->input(0));
  const PostOp negative = unaryPostOp(PostOpKind::kNeg);
  return single(pointwise({negative, unaryPostOp(PostOpKind::kSoftplus, 1, 20), negative}), {use(node->input(0))},
                {node->output()});
}

// aten::glu(x, dim): the first half gated by the second
LoweredNode lowerGlu(Node* node) {
  needFloat(node->input(0));
  const std::int64_t axis = wrapAxis(needInt(node->input(1), "dim"), needRank(node->input(0)));
  LoweredNode lowered;
  for (const std::int64_t part : {0, 1}) {
    OpSpec half;
    half.kind = OpKind::kSlice;
    half.attributes = {{"axis", axis}, {"parts", std::int64_t{2}}, {"part", part}};
    lowered.ops.push_back({half, {use(node->input(0))}, {}, {}});
  }
  lowered.ops.push_back({pointwise({unaryPostOp(PostOpKind::kSigmoid), binaryPostOp(PostOpKind::kMul, 0)}),
                         {useLocal(1), useLocal(0)},
                         {},
                         {node->output()}});
  return lowered;
}

// aten::baddbmm / addmm(input, a, b, beta, alpha)
LoweredNode lowerAddProduct(Node* node) {
  for (std::size_t operand = 0; operand < 3; ++operand) needFloat(node->input(operand));
  OpSpec spec;
  spec.kind = OpKind::kMatmul;
  spec.attributes["scale"] = needNumber(node->input(4), "alpha");
  spec.post_ops = {binaryPostOp(PostOpKind::kAdd, 0, needNumber(node->input(3), "beta"))};
  return single(spec, {use(node->input(1)), use(node->input(2)), use(node->input(0))}, {node->output()});
}

// aten::stack(parts, dim)
LoweredNode lowerStack(Node* node) {
  const std::int64_t axis = wrapAxis(needInt(node->input(1), "dim"), needRank(node->output()));
  OpSpec concat, unsqueeze;
  concat.kind = OpKind::kConcat;
  unsqueeze.kind = OpKind::kUnsqueeze;
  concat.attributes["axis"] = unsqueeze.attributes["axis"] = axis;
  LoweredNode lowered;
  std::vector<LoweredOperand> parts;
  for (Value* part : needList(node->input(0))) {
    if (knownDtype(part) != knownDtype(node->output()))
      decline(reasons::kMixedDtype, "Its parts are of several types.");
    parts.push_back(useLocal(static_cast<std::int32_t>(lowered.ops.size())));
    lowered.ops.push_back({unsqueeze, {use(part)}, {}, {}});
  }
  lowered.ops.push_back({concat, std::move(parts), {}, {node->output()}});
  return lowered;
}

// aten::roll(x, shifts, dims): per dimension the end before the beginning
LoweredNode lowerRoll(Node* node) {
  needFloatOrComplex(node->input(0));
  const int rank = needRank(node->input(0));
  const Ints shifts = needInts(node->input(1), "shifts"), dims = needInts(node->input(2), "dims");
  if (shifts.empty() || shifts.size() != dims.size())
    decline(reasons::kUnsupportedAttribute, "A roll of the flattened tensor stays in the interpreter.");
  const auto sizes = knownSizes(node->input(0));
  LoweredNode lowered;
  LoweredOperand x = use(node->input(0));
  for (std::size_t i = 0; i < shifts.size(); ++i) {
    const std::int64_t axis = wrapAxis(dims[i], rank), shift = shifts[i],
                       size = (*sizes)[static_cast<std::size_t>(axis)];
    if (shift == 0) continue;
    if (shift >= size || -shift >= size)
      decline(reasons::kUnsupportedAttribute, "A roll by more than the dimension stays in the interpreter.");
    const auto base = static_cast<std::int32_t>(lowered.ops.size());
    for (const bool end : {true, false}) {
      OpSpec part;
      part.kind = OpKind::kSlice;
      part.attributes = {{"axis", axis}, {"step", std::int64_t{1}}, {"least", std::abs(shift) + 1}};
      part.attributes["begin"] = end ? -shift : std::int64_t{0};
      part.attributes["end"] = end ? std::numeric_limits<std::int64_t>::max() : -shift;
      lowered.ops.push_back({part, {x}, {}, {}});
    }
    OpSpec concat;
    concat.kind = OpKind::kConcat;
    concat.attributes["axis"] = axis;
    lowered.ops.push_back({concat, {useLocal(base), useLocal(base + 1)}, {}, {}});
    x = useLocal(base + 2);
  }
  if (lowered.ops.empty()) decline(reasons::kUnsupportedAttribute, "A roll by nothing stays in the interpreter.");
  lowered.ops.back().dst = {node->output()};
  return lowered;
}

OpSpec sliceOf(std::int64_t axis, std::int64_t begin, std::int64_t end) {
  OpSpec spec;
  spec.kind = OpKind::kSlice;
  spec.attributes = {{"axis", axis}, {"begin", begin}, {"end", end}, {"step", std::int64_t{1}}};
  return spec;
}

// Puts `part` in the place of x[begin, end): concatenates the elements before it, `part`, and the elements after it.
LoweredNode replaced(Node* node, std::int64_t axis, std::int64_t begin, std::int64_t end, bool is_select) {
  constexpr std::int64_t kAll = std::numeric_limits<std::int64_t>::max();
  const LoweredOperand x = use(node->input(0));
  LoweredNode lowered;
  std::vector<LoweredOperand> parts;
  const auto add = [&](OpSpec spec, const LoweredOperand& of) {
    parts.push_back(useLocal(static_cast<std::int32_t>(lowered.ops.size())));
    lowered.ops.push_back({std::move(spec), {of}, {}, {}});
  };
  if (begin != 0) add(sliceOf(axis, 0, begin), x);
  if (is_select) {
    OpSpec unsqueeze;
    unsqueeze.kind = OpKind::kUnsqueeze;
    unsqueeze.attributes["axis"] = axis;
    add(unsqueeze, use(node->input(1)));
  } else {
    parts.push_back(use(node->input(1)));
  }
  if (end != kAll) add(sliceOf(axis, end, kAll), x);
  OpSpec concat;
  concat.kind = OpKind::kConcat;
  concat.attributes["axis"] = axis;
  lowered.ops.push_back({concat, std::move(parts), {}, {node->output()}});
  return lowered;
}

// The size of the axis in every run, where the tensor was made with a constant one and then written to, or is a row of
// such a tensor.
std::optional<std::int64_t> decidedSize(const Value* x, std::int64_t axis) {
  static const std::unordered_map<std::string, std::size_t> kListOf = {{"aten::zeros", 0},    {"aten::ones", 0},
                                                                       {"aten::full", 0},     {"aten::new_zeros", 1},
                                                                       {"aten::new_ones", 1}, {"aten::new_full", 1}};
  const Node* node = x->node();
  for (;;) {
    if (node->kind() == c10::aten::select) {
      const auto sizes = knownSizes(node->input(0));
      const auto dropped = constantInt(node->input(1));
      if (!sizes || !dropped) return std::nullopt;
      axis += axis >= wrapAxis(*dropped, static_cast<int>(sizes->size())) ? 1 : 0;
    } else if (node->kind() != c10::aten::slice_scatter && node->kind() != c10::aten::select_scatter) {
      break;
    }
    node = node->input(0)->node();
  }
  const auto list = kListOf.find(node->kind().toQualString());
  if (list == kListOf.end()) return std::nullopt;
  const Value* sizes = node->input(list->second);
  const auto at = static_cast<std::size_t>(axis);
  if (const auto constant = constantInts(sizes)) return (*constant)[at];
  const auto entries = decidedElements(sizes);
  return entries ? constantInt((*entries)[at]) : std::nullopt;
}

// aten::slice_scatter(x, part, dim, start?, end?, step)
LoweredNode lowerSliceScatter(Node* node) {
  needFloatOrComplex(node->input(0));
  needFloatOrComplex(node->input(1));
  const std::int64_t axis = wrapAxis(needInt(node->input(2), "dim"), needRank(node->input(0)));
  if (needInt(node->input(5), "step") != 1)
    decline(reasons::kUnsupportedAttribute, "Writes with a step stay in the interpreter.");
  const std::int64_t begin = isNone(node->input(3)) ? 0 : needInt(node->input(3), "start");
  constexpr std::int64_t kAll = std::numeric_limits<std::int64_t>::max();
  std::int64_t end = isNone(node->input(4)) ? kAll : needInt(node->input(4), "end");
  const auto decided = decidedSize(node->input(0), axis);
  if (decided && end >= *decided) end = kAll;
  const std::int64_t size = (*knownSizes(node->input(0)))[static_cast<std::size_t>(axis)],
                     part = (*knownSizes(node->input(1)))[static_cast<std::size_t>(axis)];
  // A slice that ends where the tensor ends would end elsewhere at another size.
  const std::int64_t from = begin < 0 ? begin + size : begin, to = end < 0 ? end + size : end;
  const bool inside = from >= 0 && from < size && to > from && (to < size || end == kAll);
  if (!inside || part != std::min(to, size) - from)
    decline(reasons::kUnsupportedAttribute, "The slice that is written ends where the tensor happens to end.");
  return replaced(node, axis, begin, end, false);
}

// aten::select_scatter(x, part, dim, index)
LoweredNode lowerSelectScatter(Node* node) {
  needFloatOrComplex(node->input(0));
  needFloatOrComplex(node->input(1));
  const std::int64_t axis = wrapAxis(needInt(node->input(2), "dim"), needRank(node->input(0)));
  const std::int64_t index = needInt(node->input(3), "index"),
                     size = (*knownSizes(node->input(0)))[static_cast<std::size_t>(axis)];
  if (index < -size || index >= size) decline(reasons::kUnsupportedAttribute, "The index is out of range.");
  const bool last = index == -1 || decidedSize(node->input(0), axis) == index + 1;
  if (index == size - 1 && !last)
    decline(reasons::kUnsupportedAttribute, "The slice that is written ends where the tensor happens to end.");
  return replaced(node, axis, index, last ? std::numeric_limits<std::int64_t>::max() : index + 1, true);
}

// Padding comes in pairs from the last dimension on.
LoweredNode padded(Node* node, const std::string& mode, double value) {
  needFloatOrComplex(node->input(0));
  const int rank = needRank(node->input(0));
  OpSpec spec;
  std::vector<LoweredRef> refs;
  spec.kind = OpKind::kPad;
  Ints ends[2] = {Ints(static_cast<std::size_t>(rank), 0), Ints(static_cast<std::size_t>(rank), 0)};
  const auto constant = constantInts(node->input(1));
  const std::vector<Value*> entries = constant ? std::vector<Value*>() : needList(node->input(1));
  const std::size_t count = constant ? constant->size() : entries.size();
  if (count % 2 != 0 || count / 2 > static_cast<std::size_t>(rank))
    decline(reasons::kUnsupportedAttribute, "The padding has another length.");
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t axis = static_cast<std::size_t>(rank) - 1 - i / 2;
    const auto number = constant ? std::optional<std::int64_t>((*constant)[i]) : constantInt(entries[i]);
    ends[i % 2][axis] = number.value_or(0);
    if (!number) refs.push_back({i % 2 == 0 ? "begin" : "end", static_cast<std::int32_t>(axis), entries[i]});
  }
  spec.attributes = {{"begin", ends[0]}, {"end", ends[1]}, {"mode", mode}, {"value", value}};
  return single(spec, {use(node->input(0))}, {node->output()}, refs);
}

// aten::pad(x, pad, mode, value?)
LoweredNode lowerPad(Node* node) {
  const auto mode = torch::jit::constant_as<std::string>(node->input(2));
  if (!mode || (*mode != "constant" && *mode != "reflect" && *mode != "replicate"))
    decline(reasons::kUnsupportedAttribute, "This kind of padding stays in the interpreter.");
  return padded(node, *mode, isNone(node->input(3)) ? 0 : needNumber(node->input(3), "value"));
}
LoweredNode lowerConstantPad(Node* node) {
  return padded(node, "constant", node->inputs().size() > 2 ? needNumber(node->input(2), "value") : 0);
}
LoweredNode lowerReflectionPad(Node* node) { return padded(node, "reflect", 0); }
LoweredNode lowerReplicationPad(Node* node) { return padded(node, "replicate", 0); }

}  // namespace

void addComposedLowerings(Table& table) {
  table["aten::norm"] = table["aten::linalg_vector_norm"] = lowerNorm;
  table["aten::frobenius_norm"] = lowerFrobeniusNorm;
  table["aten::linalg_norm"] = table["aten::linalg_matrix_norm"] = lowerLinalgNorm;
  table["aten::logsumexp"] = lowerLogSumExp;
  table["aten::var"] = lowerVar;
  table["aten::std"] = lowerStd;
  table["aten::amax"] = lowerMax;
  table["aten::amin"] = lowerMin;
  table["aten::max"] = lowerMax;
  table["aten::min"] = lowerMin;
  table["aten::instance_norm"] = lowerInstanceNorm;
  table["aten::prelu"] = lowerPrelu;
  table["aten::selu"] = lowerSelu;
  table["aten::log2"] = lowerLog2;
  table["aten::log10"] = lowerLog10;
  table["aten::log_sigmoid"] = lowerLogSigmoid;
  table["aten::glu"] = lowerGlu;
  table["aten::baddbmm"] = table["aten::addmm"] = lowerAddProduct;
  table["aten::stack"] = lowerStack;
  table["aten::roll"] = lowerRoll;
  table["aten::slice_scatter"] = lowerSliceScatter;
  table["aten::select_scatter"] = lowerSelectScatter;
  table["aten::pad"] = lowerPad;
  table["aten::constant_pad_nd"] = lowerConstantPad;
  for (const char* kind : {"aten::reflection_pad1d", "aten::reflection_pad2d", "aten::reflection_pad3d"})
    table[kind] = lowerReflectionPad;
  for (const char* kind : {"aten::replication_pad1d", "aten::replication_pad2d", "aten::replication_pad3d"})
    table[kind] = lowerReplicationPad;
}

}  // namespace ipex_studio::lowering
