#include "passes/precision/cast_policy.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <unordered_set>

#include "core/graph/node_facts.h"

namespace ipex_studio {

using torch::jit::Node;
using torch::jit::Value;

const LowPrecisionFloat kBf16Floats{at::kBFloat16, "bf16", "bf16", "BF16"},
    kFp16Floats{at::kHalf, "fp16", "f16", "FP16"};

namespace {

constexpr double kLargestFp16 = 65504;

bool followsOperands(OpKind kind, at::ScalarType type) {
  return takesLowPrecisionFloat(kind, type) && !isFloatProduct(kind) && kind != OpKind::kAttention &&
         kind != OpKind::kCast;
}

template <typename Test>
bool allOperations(const LoweredNode& lowered, const Test& test) {
  return std::all_of(lowered.ops.begin(), lowered.ops.end(), [&](const LoweredOp& op) { return test(op.spec.kind); });
}

// True if the operation reads values of a float operand; one that makes a tensor of its own takes operands for their
// sizes only.
bool readsFloats(const LoweredOp& op) {
  return std::any_of(op.src.begin(), op.src.end(),
                     [](const LoweredOperand& operand) { return operand.value != nullptr && isFloat(operand.value); });
}

bool isBeyondFp16(double number) { return std::isfinite(number) && std::fabs(number) > kLargestFp16; }

bool mayLeaveFp16(const PostOp& op) {
  switch (op.kind) {
    case PostOpKind::kExp:
    case PostOpKind::kLog:
    case PostOpKind::kPow:
    case PostOpKind::kSquare:
    case PostOpKind::kReciprocal:
    case PostOpKind::kRdiv:
    case PostOpKind::kRsqrt:
    case PostOpKind::kSoftplus:
      return true;
    case PostOpKind::kFill:
    case PostOpKind::kKeep:
    case PostOpKind::kLinear:
    case PostOpKind::kAdd:
    case PostOpKind::kSub:
    case PostOpKind::kRsub:
      return isBeyondFp16(op.alpha) || isBeyondFp16(op.beta);
    default:
      return false;
  }
}

bool isBeyondFp16(const Value* value) {
  const auto constant = constantTensor(value);
  if (!constant || constant->scalar_type() != at::kFloat || constant->numel() == 0) return false;
  const at::Tensor sizes = constant->detach().abs();
  return isBeyondFp16(at::where(sizes.isfinite(), sizes, at::zeros_like(sizes)).max().item<float>());
}

bool readsBeyondFp16(Node* node) {
  const auto beyond = [](const Value* value) { return isBeyondFp16(value); };
  return std::any_of(node->inputs().begin(), node->inputs().end(), [&](Value* input) {
    if (input->node()->kind() != c10::prim::ListConstruct) return beyond(input);
    const auto entries = input->node()->inputs();
    return std::any_of(entries.begin(), entries.end(), beyond);
  });
}

// Why an operation that runs in BF16 keeps FP32 under FP16; empty if it does not.
const char* whyNotFp16(Node* node, const LoweredNode& lowered, const CastPolicy& policy) {
  for (const LoweredOp& op : lowered.ops) {
    if (std::any_of(op.spec.post_ops.begin(), op.spec.post_ops.end(), mayLeaveFp16)) {
      return "This operation keeps FP32: its results may be beyond the largest FP16 number, 65504.";
    }
  }
  if (readsBeyondFp16(node))
    return "This operation keeps FP32: a constant of it is beyond the largest FP16 number, 65504.";
  const bool stock_chain = policy.role == CastRole::kFollow && node->kind().is_aten() && !policy.is_view &&
                           !allOperations(lowered, [](OpKind kind) { return kind == OpKind::kConcat; });
  if (stock_chain && !readStockChain(node)) return "This operation keeps FP32: PyTorch has no code for it in FP16.";
  return "";
}

}  // namespace

bool isFloatProduct(OpKind kind) {
  return kind == OpKind::kConvolution || kind == OpKind::kLinear || kind == OpKind::kMatmul;
}

CastPolicy castPolicy(Node* node, const LoweredNode& lowered, const LowPrecisionFloat& low) {
  CastPolicy policy;
  const auto& ops = lowered.ops;
  // Conversions keep the type that they convert to.
  if (node->outputs().size() != 1 || !isFloat(node->output()) || convertsDtype(node)) return policy;
  if (!ops.empty() && (ops.back().spec.has("products") || std::none_of(ops.begin(), ops.end(), readsFloats)))
    return policy;
  policy.is_view = allOperations(lowered, isView);
  const auto follows = [&](at::ScalarType type) {
    return allOperations(lowered, [&](OpKind kind) { return followsOperands(kind, type); });
  };
  if (readFusedOp(node) && allOperations(lowered, isFloatProduct)) {
    policy.role = CastRole::kLower;
  } else if (follows(low.type)) {
    policy.role = CastRole::kFollow;
  } else if (!policy.is_view) {
    policy.why = follows(at::kBFloat16) ? "This operation keeps FP32: there is no kernel of it for FP16."
                                        : "This operation keeps FP32: its rounding would show.";
  }
  if (policy.role == CastRole::kKeep || low.type != at::kHalf) return policy;
  policy.why = whyNotFp16(node, lowered, policy);
  if (*policy.why != '\0') policy.role = CastRole::kKeep;
  return policy;
}

std::optional<FusedOp> readStockChain(Node* node) {
  if (!node->kind().is_aten() || node->outputs().size() != 1) return std::nullopt;
  const auto lowered = lowerNode(node);
  const auto* ops = std::get_if<LoweredNode>(&lowered);
  if (ops == nullptr || ops->ops.size() != 1 || ops->ops[0].spec.kind != OpKind::kPointwise ||
      !ops->ops[0].refs.empty())
    return std::nullopt;
  const auto& src = ops->ops[0].src;
  const bool plain =
      std::all_of(src.begin(), src.end(), [](const LoweredOperand& operand) { return operand.value != nullptr; });
  if (!plain || constantTensor(src[0].value)) return std::nullopt;  // the first one's type is that of the result
  FusedOp op;
  op.spec = ops->ops[0].spec;
  op.base = {src[0].value};
  for (std::size_t s = 1; s < src.size(); ++s) op.post_args.push_back(src[s].value);
  return op;
}

WindowSize windowSeen(Node* node) {
  const auto op = readFusedOp(node);
  if (!op || op->spec.kind != OpKind::kConvolution) return {};
  const auto sizes = knownSizes(op->base[1]);
  if (!sizes || sizes->size() < 2) return {};
  return {(*sizes)[1], std::accumulate(sizes->begin() + 1, sizes->end(), std::int64_t{1}, std::multiplies<>())};
}

}  // namespace ipex_studio
