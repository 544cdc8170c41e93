// Lowering of normalization, softmax, embedding and concatenation.
#include <limits>

#include "core/graph/node_facts.h"
#include "core/lower/lowering_builder.h"
#include "core/torch/tensor_bridge.h"

namespace ipex_studio::lowering {
namespace {

using torch::jit::Node;
using torch::jit::Value;

at::Tensor needTensor(Value* value, const char* what) {
  const auto constant = constantTensor(value);
  if (!constant) decline(reasons::kNotConstant, std::string("'") + what + "' is not constant.");
  return *constant;
}

// Batch norm that could not be folded: y = x · scale + shift per channel, both computed in double precision.
LoweredNode lowerBatchNorm(Node* node) {
  needFloat(node->input(0));
  const int rank = needRank(node->input(0));
  if (needBool(node->input(5), "training")) decline(reasons::kTrainingMode, "Batch statistics are needed at run time.");
  if (rank < 2) decline(reasons::kUnsupportedAttribute, "Batch norm needs a channel dimension.");
  const at::Tensor mean = needTensor(node->input(3), "running_mean").to(at::kDouble);
  const at::Tensor variance = needTensor(node->input(4), "running_var").to(at::kDouble);
  at::Tensor scale = (variance + needNumber(node->input(7), "eps")).rsqrt();
  if (!isNone(node->input(1))) scale = scale * needTensor(node->input(1), "weight").to(at::kDouble);
  at::Tensor shift = -mean * scale;
  if (!isNone(node->input(2))) shift = shift + needTensor(node->input(2), "bias").to(at::kDouble);
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(rank), 1);
  sizes[1] = scale.numel();
  OpSpec spec;
  spec.kind = OpKind::kPointwise;
  spec.post_ops = {binaryPostOp(PostOpKind::kMul, 0), binaryPostOp(PostOpKind::kAdd, 1)};
  return single(spec,
                {use(node->input(0)), use(scale.to(at::kFloat).reshape(sizes).contiguous()),
                 use(shift.to(at::kFloat).reshape(sizes).contiguous())},
                {node->output()});
}

// aten::layer_norm(x, normalized_shape, weight?, bias?, eps, cudnn_enable)
LoweredNode lowerLayerNorm(Node* node) {
  needFloat(node->input(0));
  OpSpec spec;
  spec.kind = OpKind::kLayerNorm;
  spec.attributes["axes"] = static_cast<std::int64_t>(needInts(node->input(1), "normalized_shape").size());
  spec.attributes["eps"] = needNumber(node->input(4), "eps");
  return single(spec, {use(node->input(0)), use(node->input(2)), use(node->input(3)), {}}, {node->output()});
}

// aten::rms_norm(x, normalized_shape, weight?, eps?)
LoweredNode lowerRmsNorm(Node* node) {
  needFloat(node->input(0));
  OpSpec spec;
  spec.kind = OpKind::kLayerNorm;
  spec.attributes["axes"] = static_cast<std::int64_t>(needInts(node->input(1), "normalized_shape").size());
  spec.attributes["eps"] =
      isNone(node->input(3)) ? double{std::numeric_limits<float>::epsilon()} : needNumber(node->input(3), "eps");
  spec.attributes["rms"] = std::int64_t{1};
  return single(spec, {use(node->input(0)), use(node->input(2)), {}, {}}, {node->output()});
}

// ipex_studio::layer_norm and add_layer_norm(x, gamma?, beta?, residual, spec)
LoweredNode lowerFusedLayerNorm(Node* node) {
  needFloat(node->input(0));
  return single(needSpec(node), {use(node->input(0)), use(node->input(1)), use(node->input(2)), use(node->input(3))},
                node->outputs().vec());
}

// aten::group_norm(x, groups, weight?, bias?, eps, cudnn_enabled)
LoweredNode lowerGroupNorm(Node* node) {
  needFloat(node->input(0));
  OpSpec spec;
  spec.kind = OpKind::kGroupNorm;
  spec.attributes["groups"] = needInt(node->input(1), "num_groups");
  spec.attributes["eps"] = needNumber(node->input(4), "eps");
  return single(spec, {use(node->input(0)), use(node->input(2)), use(node->input(3))}, {node->output()});
}

LoweredNode softmaxOf(Node* node, bool log) {
  needFloat(node->input(0));
  if (!isNone(node->input(2)) && needInt(node->input(2), "dtype") != static_cast<std::int64_t>(at::kFloat)) {
    decline(reasons::kUnsupportedDtype, "Softmax to another type stays in the interpreter.");
  }
  OpSpec spec;
  spec.kind = OpKind::kSoftmax;
  spec.attributes["axis"] = std::int64_t{wrapAxis(needInt(node->input(1), "dim"), needRank(node->input(0)))};
  if (log) spec.attributes["log"] = std::int64_t{1};
  return single(spec, {use(node->input(0)), {}}, {node->output()});
}
LoweredNode lowerSoftmax(Node* node) { return softmaxOf(node, false); }
LoweredNode lowerLogSoftmax(Node* node) { return softmaxOf(node, true); }

LoweredNode lowerFusedSoftmax(Node* node) {
  needFloat(node->input(0));
  if (!isNone(node->input(1))) needFloat(node->input(1));
  return single(needSpec(node), {use(node->input(0)), use(node->input(1))}, {node->output()});
}

// ipex_studio::fourier(x, window?, spec)
LoweredNode lowerFourier(Node* node) {
  if (knownDtype(node->input(0)) != at::kFloat)
    decline(reasons::kUnsupportedDtype, "Plans compute Fourier transforms in FP32.");
  return single(needSpec(node), {use(node->input(0)), use(node->input(1))}, {node->output()});
}

// ipex_studio::interaction(features, spec)
LoweredNode lowerInteraction(Node* node) {
  std::vector<LoweredOperand> src;
  for (Value* feature : needList(node->input(0))) {
    needFloat(feature);
    needRank(feature);
    src.push_back(use(feature));
  }
  return single(needSpec(node), std::move(src), {node->output()});
}

// ipex_studio::gather_scatter(like, to, x, from?, weights?, spec)
LoweredNode lowerGatherScatter(Node* node) {
  std::vector<LoweredOperand> src;
  for (std::size_t i = 0; i + 1 < node->inputs().size(); ++i) src.push_back(use(node->input(i)));
  needFloat(node->input(2));
  needRank(node->input(2));
  return single(needSpec(node), std::move(src), {node->output()});
}

LoweredNode lowerConcat(Node* node) {
  OpSpec spec;
  spec.kind = OpKind::kConcat;
  spec.attributes["axis"] = std::int64_t{wrapAxis(needInt(node->input(1), "dim"), needRank(node->output()))};
  std::vector<LoweredOperand> src;
  for (Value* part : needList(node->input(0))) {
    if (knownDtype(part) != knownDtype(node->output()))
      decline(reasons::kMixedDtype, "Its parts are of several types.");
    if (needRank(part) != needRank(node->output())) decline(reasons::kShapeMismatch, "An empty part of another rank.");
    src.push_back(use(part));
  }
  return single(spec, std::move(src), {node->output()});
}

// aten::embedding(weight, indices, padding_idx, scale_grad_by_freq, sparse)
LoweredNode lowerEmbedding(Node* node) {
  needFloat(node->input(0));
  OpSpec spec;
  spec.kind = OpKind::kEmbedding;
  return single(spec, {use(node->input(1)), use(node->input(0))}, {node->output()});
}

// aten::embedding_bag(weight, indices, offsets, scale_grad, mode, sparse, per_sample_weights?, include_last_offset, …)
LoweredNode lowerEmbeddingBag(Node* node) {
  needFloat(node->input(0));
  for (std::size_t output = 1; output < node->outputs().size(); ++output) {
    if (node->output(output)->hasUses()) decline(reasons::kUnsupportedAttribute, "Its bookkeeping results are used.");
  }
  const std::int64_t mode = needInt(node->input(4), "mode");
  if (mode > 1) decline(reasons::kUnsupportedAttribute, "Maximum over a bag stays in the interpreter.");
  if (!isNone(node->input(6))) decline(reasons::kUnsupportedAttribute, "Weights per sample stay in the interpreter.");
  // A negative one counts from the last row.
  if (node->inputs().size() > 8 && !isNone(node->input(8))) {
    decline(reasons::kUnsupportedAttribute, "A padding index stays in the interpreter.");
  }
  if (needRank(node->input(1)) != 1) decline(reasons::kUnsupportedAttribute, "Bags as rows stay in the interpreter.");
  OpSpec spec;
  spec.kind = OpKind::kEmbeddingBag;
  spec.attributes["mode"] = std::string(mode == 0 ? "sum" : "mean");
  spec.attributes["include_last_offset"] = std::int64_t{needBool(node->input(7), "include_last_offset")};
  return single(spec, {use(node->input(1)), use(node->input(2)), use(node->input(0))}, {node->output(0)});
}

// ipex_studio::embedding(ids, table, spec) and embedding_bag(ids, offsets, table, spec): tables whose rows carry scales
LoweredNode lowerWoqEmbedding(Node* node) {
  needFloat(node->output());
  std::vector<LoweredOperand> src;
  for (Value* operand : node->inputs().slice(0, node->inputs().size() - 1)) src.push_back(use(operand));
  return single(needSpec(node), std::move(src), {node->output()});
}

// aten::to(x, dtype | device, …): a cast, or nothing if x has that dtype already.
LoweredNode lowerTo(Node* node) {
  const auto from = knownDtype(node->input(0)), to = knownDtype(node->output());
  if (!from || !to) decline(reasons::kUnknownShape, "The type was not seen in the example run.");
  needRank(node->input(0));
  Steps steps;
  if (from == to) {
    steps.same(use(node->input(0)));
    return steps.finish(node);
  }
  const bool from_float = *from == at::kFloat || isLowPrecisionFloat(*from),
             to_float = *to == at::kFloat || isLowPrecisionFloat(*to);
  const bool from_integer = isCountable(node->input(0)) || *from == at::kChar, to_integer = isCountable(node->output());
  // libtorch also casts between integers and low-precision floats by way of FP32, but models do not use it.
  const bool known =
      from_float ? to_float || (to_integer && *from == at::kFloat) : from_integer && (to_integer || *to == at::kFloat);
  if (!known) decline(reasons::kUnsupportedDtype, "A cast between these types stays in the interpreter.");
  steps.cast(use(node->input(0)), dtypeName(dtypeOf(*to)));
  return steps.finish(node);
}

}  // namespace

void addComputeLowerings(Table& table) {
  table["aten::batch_norm"] = lowerBatchNorm;
  table["aten::layer_norm"] = lowerLayerNorm;
  table["aten::rms_norm"] = lowerRmsNorm;
  table["ipex_studio::layer_norm"] = lowerFusedLayerNorm;
  table["ipex_studio::add_layer_norm"] = lowerFusedLayerNorm;
  table["aten::group_norm"] = lowerGroupNorm;
  table["aten::softmax"] = lowerSoftmax;
  table["aten::log_softmax"] = lowerLogSoftmax;
  table["ipex_studio::fourier"] = lowerFourier;
  table["ipex_studio::softmax"] = lowerFusedSoftmax;
  table["ipex_studio::interaction"] = lowerInteraction;
  table["ipex_studio::gather_scatter"] = lowerGatherScatter;
  table["aten::cat"] = lowerConcat;
  table["aten::embedding"] = lowerEmbedding;
  table["aten::embedding_bag"] = lowerEmbeddingBag;
  table["ipex_studio::embedding"] = lowerWoqEmbedding;
  table["ipex_studio::embedding_bag"] = lowerWoqEmbedding;
  table["aten::to"] = lowerTo;
}

}  // namespace ipex_studio::lowering
