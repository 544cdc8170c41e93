// Lowering of pooling, reductions and resizing.
#include <cmath>

#include "core/lower/lowering_builder.h"

namespace ipex_studio::lowering {
namespace {

using torch::jit::Node;
using torch::jit::Value;
using Ints = std::vector<std::int64_t>;

Ints spatial(Value* value, const char* what, std::size_t rank) {
  Ints list = needInts(value, what);
  if (list.size() == 1) list.assign(rank, list[0]);
  if (list.size() != rank) decline(reasons::kUnsupportedAttribute, std::string("'") + what + "' has another length.");
  return list;
}

// Averages of integers are rounded to integers, or stay FP32 numbers in the integers' unit.
void addResultOfIntegers(Node* node, OpSpec& spec) {
  if (!isInteger8(node->input(0))) return;
  const auto dtype = knownDtype(node->output(0));
  if (dtype != at::kByte && dtype != at::kChar && dtype != at::kFloat)
    decline(reasons::kUnsupportedDtype, "An average of integers in another type.");
  spec.attributes["result"] = std::string(dtype == at::kByte ? "u8" : dtype == at::kChar ? "s8" : "f32");
}

OpSpec poolSpec(Node* node, const char* mode) {
  const int rank = needRank(node->input(0));
  if (rank < 3 || rank > 5) decline(reasons::kUnsupportedAttribute, "Pooling without a batch dimension.");
  const std::size_t axes = static_cast<std::size_t>(rank - 2);
  OpSpec spec;
  spec.kind = OpKind::kPool;
  spec.attributes["mode"] = std::string(mode);
  spec.attributes["kernel"] = spatial(node->input(1), "kernel_size", axes);
  const Ints stride = needInts(node->input(2), "stride");
  spec.attributes["stride"] = stride.empty() ? spec.ints("kernel") : spatial(node->input(2), "stride", axes);
  spec.attributes["padding"] = spatial(node->input(3), "padding", axes);
  return spec;
}

// aten::max_pool{1,2,3}d(x, kernel, stride, padding, dilation, ceil_mode)
LoweredNode lowerMaxPool(Node* node) {
  needFloatOrInteger8(node->input(0));
  OpSpec spec = poolSpec(node, "max");
  spec.attributes["dilation"] = spatial(node->input(4), "dilation", spec.ints("kernel").size());
  spec.attributes["ceil_mode"] = std::int64_t{needBool(node->input(5), "ceil_mode")};
  return single(spec, {use(node->input(0))}, {node->output(0)});
}

// aten::max_pool{1,2,3}d_with_indices: the same with a second result
LoweredNode lowerMaxPoolPlaces(Node* node) {
  if (!node->output(1)->hasUses()) return lowerMaxPool(node);
  if (knownDtype(node->input(0)) != at::kFloat)
    decline(reasons::kUnsupportedDtype, "Places of maxima are planned for FP32 alone.");
  LoweredNode pooled = lowerMaxPool(node);
  LoweredOp& pool = pooled.ops.back();
  pool.spec.kind = OpKind::kPoolPlaces;
  pool.spec.attributes.erase("mode");
  pool.dst.push_back(node->output(1));
  return pooled;
}

// aten::max_unpool2d(x, indices, output_size): zeros with the numbers of x in their places
LoweredNode lowerMaxUnpool(Node* node) {
  Value *x = node->input(0), *indices = node->input(1);
  if (knownDtype(x) != at::kFloat || knownDtype(indices) != at::kLong || needRank(x) != 4 ||
      knownSizes(x) != knownSizes(indices))
    decline(reasons::kUnsupportedAttribute, "Only images in batches of FP32 are planned.");
  OpSpec sizes;
  std::vector<LoweredRef> refs;
  intsOrRefs(node->input(2), "shape", sizes, refs);
  const Ints output = sizes.ints("shape");
  if (output.size() != 2) decline(reasons::kUnsupportedAttribute, "A volume stays in the interpreter.");
  Steps steps;
  LoweredOperand zeros = use(x);
  for (const std::int64_t axis : {2, 3})
    zeros = steps.add(OpKind::kSlice,
                      {{"axis", axis}, {"begin", std::int64_t{0}}, {"end", std::int64_t{1}}, {"step", std::int64_t{1}}},
                      {zeros});
  zeros = steps.chain({binaryPostOp(PostOpKind::kFill, 0, 0)}, {zeros, use(at::ones({}, at::kFloat))});
  zeros = steps.add(OpKind::kExpand, {{"shape", Ints{-1, -1, output[0], output[1]}}}, {zeros});
  for (const LoweredRef& ref : refs) steps.addRef({"shape", ref.index + 2, ref.value});
  const auto flat = [&](const LoweredOperand& image) {
    return steps.add(OpKind::kReshape, {{"flatten_begin", std::int64_t{2}}, {"flatten_end", std::int64_t{3}}}, {image});
  };
  zeros = flat(zeros);
  const LoweredOperand places = flat(use(indices)), numbers = flat(use(x));
  const LoweredOperand written =
      steps.add(OpKind::kScatterElements, {{"axis", std::int64_t{2}}}, {zeros, places, numbers});
  steps.add(OpKind::kReshape, {{"split_last", std::max<std::int64_t>(1, output[1])}}, {written});
  for (const LoweredRef& ref : refs) {
    if (ref.index == 1) steps.addRef({"split_last", -1, ref.value});
  }
  return steps.finish(node);
}

// aten::avg_pool{1,2,3}d(x, kernel, stride, padding, ceil_mode, count_include_pad[, divisor_override])
LoweredNode lowerAvgPool(Node* node) {
  needFloatOrInteger8(node->input(0));
  const bool with_padding = needBool(node->input(5), "count_include_pad");
  if (node->inputs().size() > 6 && !isNone(node->input(6)))
    decline(reasons::kUnsupportedAttribute, "A divisor is given.");
  OpSpec spec = poolSpec(node, with_padding ? "avg" : "avg_exclude_pad");
  spec.attributes["ceil_mode"] = std::int64_t{needBool(node->input(4), "ceil_mode")};
  if (with_padding && spec.intOr("ceil_mode", 0) != 0) {
    decline(reasons::kUnsupportedAttribute, "Averages over padding with rounding up stay in the interpreter.");
  }
  addResultOfIntegers(node, spec);
  return single(spec, {use(node->input(0))}, {node->output()});
}

OpSpec reduceSpec(const char* mode, Ints axes, bool keepdim) {
  OpSpec spec;
  spec.kind = OpKind::kReduce;
  spec.attributes["mode"] = std::string(mode);
  spec.attributes["axes"] = std::move(axes);
  spec.attributes["keepdim"] = std::int64_t{keepdim};
  return spec;
}

LoweredNode adaptivePool(Node* node, const char* mode) {
  needFloatOrInteger8(node->input(0));
  const int rank = needRank(node->input(0));
  if (rank < 3) decline(reasons::kUnsupportedAttribute, "Pooling without a batch dimension.");
  const Ints output = spatial(node->input(1), "output_size", static_cast<std::size_t>(rank - 2));
  bool global = true;
  Ints axes;
  for (std::size_t axis = 0; axis < output.size(); ++axis) {
    global = global && output[axis] == 1;
    axes.push_back(static_cast<std::int64_t>(axis) + 2);
  }
  if (global) {
    OpSpec spec = reduceSpec(std::string(mode) == "avg" ? "mean" : "max", axes, true);
    addResultOfIntegers(node, spec);
    return single(spec, {use(node->input(0))}, {node->output(0)});
  }
  OpSpec spec;
  addResultOfIntegers(node, spec);
  spec.kind = OpKind::kAdaptivePool;
  spec.attributes["mode"] = std::string(mode);
  spec.attributes["output"] = output;
  return single(spec, {use(node->input(0))}, {node->output(0)});
}
LoweredNode lowerAdaptiveAvgPool(Node* node) { return adaptivePool(node, "avg"); }

// aten::adaptive_max_pool{1,2,3}d(x, output_size) -> (result, indices)
LoweredNode lowerAdaptiveMaxPool(Node* node) {
  needFloat(node->input(0));
  if (node->output(1)->hasUses())
    decline(reasons::kUnsupportedAttribute, "The places of extremes stay in the interpreter.");
  return adaptivePool(node, "max");
}

// aten::mean / aten::sum(x, dim[], keepdim, dtype?)
OpSpec reductionSpec(Node* node, const char* mode) {
  const int rank = needRank(node->input(0));
  Ints axes;
  bool keepdim = false;
  if (node->inputs().size() == 4) {
    for (std::int64_t axis : isNone(node->input(1)) ? Ints{} : needInts(node->input(1), "dim")) {
      axes.push_back(wrapAxis(axis, rank));
    }
    keepdim = needBool(node->input(2), "keepdim");
  } else if (node->inputs().size() != 2) {
    decline(reasons::kUnsupportedAttribute, "This form of reduction stays in the interpreter.");
  }
  if (axes.empty()) {
    for (int axis = 0; axis < rank; ++axis) axes.push_back(axis);
  }
  return reduceSpec(mode, axes, keepdim);
}

LoweredNode reduction(Node* node, const char* mode) {
  // A sum of u8 in the user's model is a sum of 64-bit integers, which plans do not compute here.
  std::string(mode) == "mean" ? needFloatOrInteger8(node->input(0)) : needFloat(node->input(0));
  needFloat(node->output());
  OpSpec spec = reductionSpec(node, mode);
  addResultOfIntegers(node, spec);
  return single(spec, {use(node->input(0))}, {node->output()});
}
LoweredNode lowerMean(Node* node) { return reduction(node, "mean"); }

// How many elements of a mask are true, counted in FP32.
LoweredNode lowerSum(Node* node) {
  if (knownDtype(node->input(0)) != at::kBool || knownDtype(node->output()) != at::kLong) return reduction(node, "sum");
  OpSpec count = reductionSpec(node, "sum");
  count.attributes["counts"] = std::int64_t{1};
  Steps steps;
  const LoweredOperand ones = steps.cast(use(node->input(0)), dtypeName(DType::kF32));
  steps.cast(steps.add(count.kind, count.attributes, {ones}), dtypeName(DType::kS64));
  return steps.finish(node);
}

// Spatial sizes of a resize: given, or the source's sizes times whole factors.
void resizeOutput(Value* sizes, Value* factors, OpSpec& spec, std::vector<LoweredRef>& refs) {
  if (!isNone(sizes)) {
    intsOrRefs(sizes, "output", spec, refs);
    return;
  }
  const auto given = torch::jit::constant_as<c10::List<double>>(factors);
  if (!given) decline(reasons::kNotConstant, "The factors are computed at run time.");
  Ints whole;
  for (const double factor : *given) {
    if (factor < 1 || factor != std::floor(factor)) {
      decline(reasons::kUnsupportedAttribute, "Resizing by a fraction stays in the interpreter.");
    }
    whole.push_back(static_cast<std::int64_t>(factor));
  }
  spec.attributes["factors"] = whole;
}

// aten::upsample_nearest{1,2,3}d(x, output_size?, scale_factors?)  [.vec]
LoweredNode lowerNearest(Node* node) {
  needFloatOrInteger8(node->input(0));
  if (node->inputs().size() != 3)
    decline(reasons::kUnsupportedAttribute, "This form of resize stays in the interpreter.");
  OpSpec spec;
  std::vector<LoweredRef> refs;
  spec.kind = OpKind::kUpsample;
  spec.attributes["mode"] = std::string("nearest");
  resizeOutput(node->input(1), node->input(2), spec, refs);
  return single(spec, {use(node->input(0))}, {node->output()}, refs);
}

// aten::upsample_{linear1d,bilinear2d,bicubic2d}(x, output_size?, align_corners, scale_factors?)  [.vec]
LoweredNode upsample(Node* node, const char* mode) {
  needFloat(node->input(0));
  if (node->inputs().size() != 4)
    decline(reasons::kUnsupportedAttribute, "This form of resize stays in the interpreter.");
  OpSpec spec;
  std::vector<LoweredRef> refs;
  spec.kind = OpKind::kUpsample;
  spec.attributes["mode"] = std::string(mode);
  spec.attributes["align_corners"] = std::int64_t{needBool(node->input(2), "align_corners")};
  resizeOutput(node->input(1), node->input(3), spec, refs);
  return single(spec, {use(node->input(0))}, {node->output()}, refs);
}
LoweredNode lowerBilinear(Node* node) { return upsample(node, "bilinear"); }
LoweredNode lowerBicubic(Node* node) { return upsample(node, "bicubic"); }

}  // namespace

void addPoolingLowerings(Table& table) {
  for (const char* kind :
       {"aten::max_pool1d_with_indices", "aten::max_pool2d_with_indices", "aten::max_pool3d_with_indices"})
    table[kind] = lowerMaxPoolPlaces;
  table["aten::max_unpool2d"] = lowerMaxUnpool;
  for (const char* kind : {"aten::max_pool1d", "aten::max_pool2d", "aten::max_pool3d"}) table[kind] = lowerMaxPool;
  for (const char* kind : {"aten::avg_pool1d", "aten::avg_pool2d", "aten::avg_pool3d"}) table[kind] = lowerAvgPool;
  for (const char* kind : {"aten::adaptive_avg_pool1d", "aten::adaptive_avg_pool2d", "aten::adaptive_avg_pool3d"}) {
    table[kind] = lowerAdaptiveAvgPool;
  }
  table["aten::mean"] = lowerMean;
  table["aten::sum"] = lowerSum;
  for (const char* kind : {"aten::adaptive_max_pool1d", "aten::adaptive_max_pool2d", "aten::adaptive_max_pool3d"}) {
    table[kind] = lowerAdaptiveMaxPool;
  }
  for (const char* kind : {"aten::upsample_nearest1d", "aten::upsample_nearest2d"}) table[kind] = lowerNearest;
  for (const char* kind : {"aten::upsample_linear1d", "aten::upsample_bilinear2d"}) table[kind] = lowerBilinear;
  table["aten::upsample_bicubic2d"] = lowerBicubic;
}

}  // namespace ipex_studio::lowering
