// Chains of post-operations as attributes of oneDNN's primitives (onednn_op.h).
#include <algorithm>
#include <cmath>

#include "core/op/low_precision_floats.h"
#include "kernels/common/layer_operands.h"
#include "kernels/common/requantization.h"
#include "kernels/onednn/onednn_op.h"

namespace ipex_studio::onednn {
namespace {

bool appendUnary(const PostOp& op, dnnl::post_ops* list) {
  using A = dnnl::algorithm;
  const auto add = [&](A algorithm, double alpha, double beta) {
    appendEltwise(*list, algorithm, static_cast<float>(alpha), static_cast<float>(beta));
    return true;
  };
  switch (op.kind) {
    case PostOpKind::kRelu:
      return add(A::eltwise_relu, 0, 0);
    case PostOpKind::kClip:
      return add(A::eltwise_clip, op.alpha, op.beta);
    case PostOpKind::kSigmoid:
      return add(A::eltwise_logistic, 0, 0);
    case PostOpKind::kTanh:
      return add(A::eltwise_tanh, 0, 0);
    case PostOpKind::kGeluErf:
      return add(A::eltwise_gelu_erf, 0, 0);
    case PostOpKind::kGeluTanh:
      return add(A::eltwise_gelu_tanh, 0, 0);
    case PostOpKind::kSilu:
      return add(A::eltwise_swish, 1, 0);
    case PostOpKind::kHardSwish:
      appendHardSwish(*list);
      return true;
    case PostOpKind::kHardSigmoid:
      return add(A::eltwise_linear, 1.0 / 6, 0.5) && add(A::eltwise_clip, 0, 1);
    case PostOpKind::kLeakyRelu:
      return add(A::eltwise_relu, op.alpha, 0);
    case PostOpKind::kElu:
      return add(A::eltwise_elu, op.alpha, 0);
    case PostOpKind::kMish:
      return add(A::eltwise_mish, 0, 0);
    case PostOpKind::kAbs:
      return add(A::eltwise_abs, 0, 0);
    case PostOpKind::kExp:
      return add(A::eltwise_exp, 0, 0);
    case PostOpKind::kLog:
      return add(A::eltwise_log, 0, 0);
    case PostOpKind::kSqrt:
      return add(A::eltwise_sqrt, 0, 0);
    case PostOpKind::kSquare:
      return add(A::eltwise_square, 0, 0);
    case PostOpKind::kNeg:
      return add(A::eltwise_linear, -1, 0);
    case PostOpKind::kRound:
      return add(A::eltwise_round, 0, 0);
    case PostOpKind::kLinear:
      return add(A::eltwise_linear, op.alpha, op.beta);
    default:
      return false;
  }
}

bool binaryAlgorithm(const PostOp& op, dnnl::algorithm* algorithm) {
  switch (op.kind) {
    case PostOpKind::kAdd:
      *algorithm = dnnl::algorithm::binary_add;
      return op.alpha == 1;
    case PostOpKind::kSub:
      *algorithm = dnnl::algorithm::binary_sub;
      return op.alpha == 1;
    case PostOpKind::kMul:
      *algorithm = dnnl::algorithm::binary_mul;
      return true;
    case PostOpKind::kDiv:
      *algorithm = dnnl::algorithm::binary_div;
      return true;
    case PostOpKind::kMax:
      *algorithm = dnnl::algorithm::binary_max;
      return true;
    case PostOpKind::kMin:
      *algorithm = dnnl::algorithm::binary_min;
      return true;
    default:
      return false;
  }
}

Verdict appendBinary(const PostOpRequest& request, const PostOp& op, PostOps* result) {
  const int k = op.operand;
  if (k < 0 || k >= static_cast<int>(request.operand_dims.size())) return Verdict::no("post-ops");
  const Dims dims = request.operand_dims[k];
  const DType type = request.operand_types[k];
  if (dims.rank > request.dst.rank || !isFloatDtype(type)) return Verdict::no("post-ops");
  const bool same = dims == request.dst;
  const int src = request.first_operand + k;
  if (request.allow_sum && result->in_place_src < 0 && same && type == request.dst_type && request.operand_dies[k] &&
      op.kind == PostOpKind::kAdd && op.alpha == 1) {
    result->list.append_sum(1.0f);
    result->in_place_src = src;
    return Verdict::yes();
  }
  dnnl::algorithm algorithm;
  if (!binaryAlgorithm(op, &algorithm)) return Verdict::no("post-ops");
  const Dims aligned = rankAligned(dims, request.dst.rank);
  const bool full = aligned == request.dst;
  if (full && (!same || type != request.dst_type)) return Verdict::no("post-ops");
  const Md layout = full ? (request.dst_layout ? *request.dst_layout : anyMd(aligned, type)) : plainMd(aligned, type);
  result->operands.push_back({result->list.len(), src, !full});
  result->list.append_binary(algorithm, layout);
  return Verdict::yes();
}

// True if two element-wise operations of one kind have different numbers: oneDNN 2.6 computes the second with the
// numbers of the first (seen with linear, clip, relu and elu in every implementation).
bool confusesConstants(const dnnl::post_ops& list) {
  std::vector<Eltwise> seen;
  for (int i = 0; i < list.len(); ++i) {
    if (list.kind(i) != dnnl::primitive::kind::eltwise) continue;
    const Eltwise op = eltwiseAt(list, i);
    for (const Eltwise& other : seen) {
      if (op.algorithm == other.algorithm && (op.alpha != other.alpha || op.beta != other.beta)) return true;
    }
    seen.push_back(op);
  }
  return false;
}

}  // namespace

Verdict translatePostOps(const PostOpRequest& request, PostOps* result) {
  for (const PostOp& op : *request.post_ops) {
    if (isBinary(op.kind)) {
      const Verdict verdict = appendBinary(request, op, result);
      if (!verdict.ok) return verdict;
    } else if (!appendUnary(op, &result->list)) {
      return Verdict::no("post-ops");
    }
  }
  constexpr int kLimit = 32;
  return result->list.len() <= kLimit && !confusesConstants(result->list) ? Verdict::yes() : Verdict::no("post-ops");
}

PostOpRequest requestFor(const PrepareArgs& args, int first_operand) {
  PostOpRequest request;
  request.post_ops = &args.spec.post_ops;
  request.dst = args.dst[0].dims;
  request.dst_type = args.dst[0].dtype;
  request.first_operand = first_operand;
  for (std::size_t i = first_operand; i < args.src.size(); ++i) {
    request.operand_dims.push_back(args.src[i].dims);
    request.operand_types.push_back(args.src[i].dtype);
    request.operand_dies.push_back(i < args.src_dies.size() && args.src_dies[i]);
  }
  return request;
}

namespace {

bool sameSize(DType a, DType b) { return elementBytes(a) == elementBytes(b); }

// Appends the operand of the folded chain: the result accumulates into it where it dies, else it is added before the
// factor. False if the library cannot express it.
bool appendAddend(const PostOpRequest& request, Requantization* chain, PostOps* result) {
  const int k = chain->addend;
  const DType type = request.operand_types[k];
  dnnl::memory::data_type onednn_type;
  if (request.operand_dims[k] != request.dst || !typeToOnednn(type, &onednn_type) || chain->factor == 0) return false;
  const int src = request.first_operand + k;
  if (request.allow_sum && request.operand_dies[k] && sameSize(type, request.dst_type)) {
    result->list.append_sum(chain->factor, 0, onednn_type);  // 0: zero point
    result->in_place_src = src;
    return true;
  }
  if (!(chain->factor > 0)) return false;
  for (float& s : chain->scale) s /= chain->factor;
  for (float& o : chain->offset) o /= chain->factor;
  chain->low /= chain->factor;
  chain->high /= chain->factor;
  result->operands.push_back({result->list.len(), src, false});
  result->list.append_binary(dnnl::algorithm::binary_add,
                             request.dst_layout ? *request.dst_layout : anyMd(request.dst, type));
  return true;
}

// True if the saturation of the result's type makes the clamp redundant.
bool clampsByType(const Requantization& chain, DType dtype) {
  return chain.tail.empty() && isByte(dtype) && chain.low == (dtype == DType::kU8 ? 0.0f : -128.0f) &&
         chain.high == (dtype == DType::kU8 ? 255.0f : 127.0f);
}

void appendClamp(const Requantization& chain, dnnl::post_ops* list) {
  if (chain.low == 0 && std::isinf(chain.high)) {
    appendEltwise(*list, dnnl::algorithm::eltwise_relu, 0, 0);
  } else if (chain.clamps()) {
    appendEltwise(*list, dnnl::algorithm::eltwise_clip, chain.low, chain.high);
  }
}

}  // namespace

Verdict translateProduct(const PrepareArgs& args, PostOpRequest request, int channel_axis, PostOps* result) {
  if (!isByte(args.src[kSrc].dtype)) return translatePostOps(request, result);
  if (!hasVnni()) {
    constexpr int kSevenBits = 63;
    const bool small =
        args.constant[kWeights] != nullptr && largestWeight(args.src[kWeights], args.constant[kWeights]) <= kSevenBits;
    if (args.src[kSrc].dtype == DType::kS8 || !small) return Verdict::no("inexact");
  }
  Requantization chain = foldChain(args, request.first_operand, channel_axis);
  saturate(args.dst[0].dtype, &chain);
  const float factor = chain.factor;
  if (chain.addend >= 0 && !appendAddend(request, &chain, result)) return Verdict::no("post-ops");
  const bool scaled_after = chain.addend >= 0 && result->in_place_src < 0 && factor != 1;
  const bool hard_swish = chain.activation == IntegerActivation::kHardSwish;
  if (scaled_after && hard_swish) return Verdict::no("post-ops");  // the library takes one linear operation, not two
  if (hard_swish) {
    appendHardSwish(result->list);
    if (chain.activated_scale != 1 || chain.activated_offset != 0) {
      appendEltwise(result->list, dnnl::algorithm::eltwise_linear, chain.activated_scale, chain.activated_offset);
    }
  }
  if (scaled_after) {
    appendClamp(chain, &result->list);
    appendEltwise(result->list, dnnl::algorithm::eltwise_linear, factor, 0);
  } else if (!clampsByType(chain, args.dst[0].dtype)) {
    appendClamp(chain, &result->list);
  }
  result->integers = true;
  ProductScales& product = result->product;
  const bool equal = std::all_of(chain.scale.begin(), chain.scale.end(), [&](float s) { return s == chain.scale[0]; });
  product.scale = equal ? std::vector<float>{chain.scale[0]} : chain.scale;
  product.offset = chain.offset;
  product.src_zero = static_cast<std::int32_t>(args.spec.intOr("src_zero", 0));
  product.weight_zero = static_cast<std::int32_t>(args.spec.intOr("weight_zero", 0));
  if (!biasOf(product, &result->bias)) return Verdict::no("post-ops");
  request.post_ops = &chain.tail;
  request.allow_sum = request.allow_sum && result->in_place_src < 0;
  return translatePostOps(request, result);
}

dnnl::primitive_attr attributes(const dnnl::post_ops& post_ops) {
  dnnl::primitive_attr attr;
  attr.set_post_ops(post_ops);
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attr;
}

dnnl::primitive_attr attributes(const PostOps& post_ops, int dst_mask, int weights_mask) {
  dnnl::primitive_attr attr = attributes(post_ops.list);
  if (post_ops.integers) setScales(post_ops.product, dst_mask, weights_mask, &attr);
  return attr;
}

}  // namespace ipex_studio::onednn
