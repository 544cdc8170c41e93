#include "kernels/onednn_op.h"

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
  if (dims.rank > request.dst.rank || (type != DType::kF32 && type != DType::kBf16)) return Verdict::no("post-ops");
  const bool same = dims == request.dst;
  const int src = request.first_operand + k;
  if (request.allow_sum && result->in_place_src < 0 && same && type == request.dst_type && request.operand_dies[k] && op.kind == PostOpKind::kAdd &&
      op.alpha == 1) {
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

// oneDNN 2.6 computes the second of two element-wise operations of one kind with the numbers of the first (seen with
// linear, clip, relu and elu in every implementation).
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

dnnl::primitive_attr attributes(const dnnl::post_ops& post_ops) {
  dnnl::primitive_attr attr;
  attr.set_post_ops(post_ops);
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attr;
}

}  // namespace ipex_studio::onednn
