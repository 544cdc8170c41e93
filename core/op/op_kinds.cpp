// The table of operation kinds, one row each.
#include "core/op/op_kinds.h"

#include <iterator>

#include "core/op/shape_rules.h"

namespace ipex_studio {

// The rules that rows name, each defined in a shape_….cpp.
ShapeRule inferConvolution, inferDeconvolution, inferLinear, inferMatmul, inferPool, inferPoolPlaces, inferGivenSpatial,
    inferReduce, inferPointwise, inferLayerNorm, inferGroupNorm, inferSoftmax, inferAttention, inferRotary,
    inferSqueezeExcite, inferPointwiseDepthwise, inferConcat, inferEmbedding, inferEmbeddingBag, inferInteraction,
    inferInteractionBackward, inferGather, inferGatherElements, inferScatterElements, inferGatherScatter, inferMaxMin,
    inferSort, inferCumulativeSum, inferAffineGrid, inferGridSample, inferFourier, inferComplexFourier,
    inferComplexProduct, inferIntegerMath, inferPad, inferRecurrent, inferView, inferSame, inferCast;

namespace {

// A row under construction; its functions set the properties that most kinds do not have.
struct Row : OpKindRow {
  constexpr Row formerly(const char* name) const {
    Row row = *this;
    row.former_name = name;
    return row;
  }
  constexpr Row mayLack(std::uint32_t sources) const {
    Row row = *this;
    row.absent_sources = sources;
    return row;
  }
  constexpr Row view() const {
    Row row = *this;
    row.is_view = true;
    return row;
  }
  constexpr Row notMeasured() const {
    Row row = *this;
    row.is_measured = false;
    return row;
  }
  constexpr Row in(LowPrecision floats) const {
    Row row = *this;
    row.low_precision = floats;
    return row;
  }
  constexpr Row withIntegers(IntegerRule rule) const {
    Row row = *this;
    row.integers = rule;
    return row;
  }
};

constexpr Row row(OpKind kind, const char* name, int base_sources, ShapeRule* infer, BatchRule batch,
                  const char* group) {
  return Row{{kind, name, nullptr, base_sources, 0, false, true, infer, batch, LowPrecision::kNone, IntegerRule::kNone,
              group}};
}

constexpr Row kOpKinds[] = {
    row(OpKind::kConvolution, "convolution", 3, inferConvolution, BatchRule::kWeighted, "convolution")
        .mayLack(1u << 2)
        .in(LowPrecision::kBf16AndFp16)
        .withIntegers(IntegerRule::kWeightedProduct),
    row(OpKind::kDeconvolution, "deconvolution", 3, inferDeconvolution, BatchRule::kWeighted, "convolution")
        .mayLack(1u << 2),
    row(OpKind::kLinear, "linear", 3, inferLinear, BatchRule::kLinear, "linear")
        .mayLack(1u << 2)
        .in(LowPrecision::kBf16AndFp16)
        .withIntegers(IntegerRule::kWeightedProduct),
    row(OpKind::kMatmul, "matmul", 2, inferMatmul, BatchRule::kMatmul, "linear")
        .in(LowPrecision::kBf16AndFp16)
        .withIntegers(IntegerRule::kActivationProduct),
    row(OpKind::kPool, "pool", 1, inferPool, BatchRule::kWeighted, "pooling")
        .in(LowPrecision::kBf16)
        .withIntegers(IntegerRule::kPools),
    row(OpKind::kPoolPlaces, "pool_places", 1, inferPoolPlaces, BatchRule::kWeighted, "pooling"),
    row(OpKind::kAdaptivePool, "adaptive_pool", 1, inferGivenSpatial, BatchRule::kWeighted, "pooling")
        .withIntegers(IntegerRule::kAveragesPooled),
    row(OpKind::kReduce, "reduce", 1, inferReduce, BatchRule::kReduce, "pooling")
        .withIntegers(IntegerRule::kAveragesMean),
    row(OpKind::kPointwise, "pointwise", 1, inferPointwise, BatchRule::kAligned, "elementwise")
        .in(LowPrecision::kBf16AndFp16)
        .withIntegers(IntegerRule::kChain),
    row(OpKind::kLayerNorm, "layer_norm", 4, inferLayerNorm, BatchRule::kLayerNorm, "normalization")
        .mayLack(1u << 1 | 1u << 2 | 1u << 3),
    row(OpKind::kGroupNorm, "group_norm", 3, inferGroupNorm, BatchRule::kWeighted, "normalization")
        .mayLack(1u << 1 | 1u << 2),
    row(OpKind::kSoftmax, "softmax", 2, inferSoftmax, BatchRule::kSoftmax, "attention").mayLack(1u << 1),
    row(OpKind::kAttention, "attention", 4, inferAttention, BatchRule::kAttention, "attention")
        .mayLack(1u << 3)
        .in(LowPrecision::kBf16)
        .withIntegers(IntegerRule::kAttention),
    row(OpKind::kRotary, "rotary", 3, inferRotary, BatchRule::kAligned, "attention"),
    row(OpKind::kSqueezeExcite, "squeeze_excite", 5, inferSqueezeExcite, BatchRule::kWeighted, "convolution")
        .mayLack(1u << 2 | 1u << 4)
        .in(LowPrecision::kBf16),
    row(OpKind::kPointwiseDepthwise, "pointwise_depthwise", 5, inferPointwiseDepthwise, BatchRule::kWeighted,
        "convolution")
        .formerly("expand_depthwise")
        .mayLack(1u << 2 | 1u << 4),
    row(OpKind::kConcat, "concat", -1, inferConcat, BatchRule::kConcat, "other")
        .in(LowPrecision::kBf16AndFp16)
        .withIntegers(IntegerRule::kMoves),
    row(OpKind::kEmbedding, "embedding", 2, inferEmbedding, BatchRule::kWeighted, "embedding").notMeasured(),
    row(OpKind::kEmbeddingBag, "embedding_bag", 3, inferEmbeddingBag, BatchRule::kMayMix, "embedding").notMeasured(),
    row(OpKind::kInteraction, "interaction", -1, inferInteraction, BatchRule::kAllSamples, "embedding"),
    row(OpKind::kInteractionBackward, "interaction_backward", -1, inferInteractionBackward, BatchRule::kAllSamples,
        "embedding"),
    row(OpKind::kUpsample, "upsample", 1, inferGivenSpatial, BatchRule::kWeighted, "pooling")
        .in(LowPrecision::kBf16)
        .withIntegers(IntegerRule::kMovesNearest),
    row(OpKind::kGather, "gather", 2, inferGather, BatchRule::kGather, "embedding").notMeasured(),
    row(OpKind::kGatherElements, "gather_elements", 2, inferGatherElements, BatchRule::kMayMix, "embedding"),
    row(OpKind::kScatterElements, "scatter_elements", 3, inferScatterElements, BatchRule::kMayMix, "other"),
    row(OpKind::kGatherScatter, "gather_scatter", 5, inferGatherScatter, BatchRule::kMayMix, "embedding")
        .mayLack(1u << 3 | 1u << 4),
    row(OpKind::kMaxMin, "max_min", 1, inferMaxMin, BatchRule::kAxisApart, "other").formerly("extremum"),
    row(OpKind::kSort, "sort", 1, inferSort, BatchRule::kAxisApart, "other"),
    row(OpKind::kCumulativeSum, "cumulative_sum", 1, inferCumulativeSum, BatchRule::kAxisApart, "elementwise"),
    row(OpKind::kAffineGrid, "affine_grid", 1, inferAffineGrid, BatchRule::kWeighted, "other"),
    row(OpKind::kGridSample, "grid_sample", 2, inferGridSample, BatchRule::kAllSamples, "other"),
    row(OpKind::kFourier, "fourier", 2, inferFourier, BatchRule::kLinear, "other").mayLack(1u << 1),
    row(OpKind::kComplexFourier, "complex_fourier", 1, inferComplexFourier, BatchRule::kAxisApart, "other"),
    row(OpKind::kComplexProduct, "complex_product", 2, inferComplexProduct, BatchRule::kAligned, "elementwise"),
    row(OpKind::kIntegerMath, "integer_math", 2, inferIntegerMath, BatchRule::kMayMix, "other").mayLack(1u << 1),
    row(OpKind::kPad, "pad", 1, inferPad, BatchRule::kPad, "other"),
    row(OpKind::kRecurrent, "recurrent", 5, inferRecurrent, BatchRule::kMayMix, "other").mayLack(1u << 3 | 1u << 4),
    row(OpKind::kReshape, "reshape", 1, inferView, BatchRule::kView, "other").view().in(LowPrecision::kBf16AndFp16),
    row(OpKind::kPermute, "permute", 1, inferView, BatchRule::kView, "other").view().in(LowPrecision::kBf16AndFp16),
    row(OpKind::kSlice, "slice", 1, inferView, BatchRule::kView, "other").view().in(LowPrecision::kBf16AndFp16),
    row(OpKind::kSelect, "select", 1, inferView, BatchRule::kView, "other").view().in(LowPrecision::kBf16AndFp16),
    row(OpKind::kExpand, "expand", 1, inferView, BatchRule::kView, "other").view().in(LowPrecision::kBf16AndFp16),
    row(OpKind::kUnsqueeze, "unsqueeze", 1, inferView, BatchRule::kView, "other").view().in(LowPrecision::kBf16AndFp16),
    row(OpKind::kSqueeze, "squeeze", 1, inferView, BatchRule::kView, "other").view().in(LowPrecision::kBf16AndFp16),
    row(OpKind::kReorder, "reorder", 1, inferSame, BatchRule::kWeighted, "reorder").notMeasured(),
    row(OpKind::kCast, "cast", 1, inferCast, BatchRule::kWeighted, "reorder").in(LowPrecision::kBf16AndFp16),
};
static_assert(std::size(kOpKinds) == kOpKindCount, "a kind without a row");

constexpr bool isInOrder() {
  for (int kind = 0; kind < kOpKindCount; ++kind) {
    if (kOpKinds[kind].kind != static_cast<OpKind>(kind)) return false;
  }
  return true;
}
static_assert(isInOrder(), "rows stand in the order of the enumerators");

}  // namespace

const OpKindRow& opKindRow(OpKind kind) { return kOpKinds[static_cast<int>(kind)]; }
const char* opKindName(OpKind kind) { return opKindRow(kind).name; }
int baseSourceCount(OpKind kind) { return opKindRow(kind).base_sources; }
bool isView(OpKind kind) { return opKindRow(kind).is_view; }

bool opKindFromName(const std::string& name, OpKind* kind) {
  for (const OpKindRow& row : kOpKinds) {
    if (name != row.name && (row.former_name == nullptr || name != row.former_name)) continue;
    *kind = row.kind;
    return true;
  }
  return false;
}

}  // namespace ipex_studio
