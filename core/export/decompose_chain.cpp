// Post-operations in stock operators.
#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "core/export/decompose_writer.h"

namespace ipex_studio {

using torch::jit::Value;

namespace {

Value* bound(StockWriter& write, double value) { return std::isinf(value) ? write.none() : write.number(value); }

const char* plainKind(PostOpKind kind) {
  switch (kind) {
    case PostOpKind::kRelu:
      return "aten::relu";
    case PostOpKind::kSigmoid:
      return "aten::sigmoid";
    case PostOpKind::kTanh:
      return "aten::tanh";
    case PostOpKind::kSilu:
      return "aten::silu";
    case PostOpKind::kHardSwish:
      return "aten::hardswish";
    case PostOpKind::kHardSigmoid:
      return "aten::hardsigmoid";
    case PostOpKind::kMish:
      return "aten::mish";
    case PostOpKind::kAbs:
      return "aten::abs";
    case PostOpKind::kExp:
      return "aten::exp";
    case PostOpKind::kLog:
      return "aten::log";
    case PostOpKind::kSqrt:
      return "aten::sqrt";
    case PostOpKind::kRsqrt:
      return "aten::rsqrt";
    case PostOpKind::kNeg:
      return "aten::neg";
    case PostOpKind::kReciprocal:
      return "aten::reciprocal";
    case PostOpKind::kErf:
      return "aten::erf";
    case PostOpKind::kFloor:
      return "aten::floor";
    case PostOpKind::kRound:
      return "aten::round";
    case PostOpKind::kSin:
      return "aten::sin";
    case PostOpKind::kCos:
      return "aten::cos";
    default:
      return nullptr;
  }
}

Value* writeLinear(StockWriter& write, const PostOp& op, Value* v) {
  Value* product = write.scaled(v, op.alpha);
  return op.beta == 0 ? product : write.plus(product, write.number(op.beta), 1);
}

Value* writeClip(StockWriter& write, const PostOp& op, Value* v) {
  if (std::isinf(op.alpha) && std::isinf(op.beta)) return v;
  return write.call("aten::clamp", {v, bound(write, op.alpha), bound(write, op.beta)});
}

Value* writeUnary(StockWriter& write, const PostOp& op, Value* v) {
  if (const char* kind = plainKind(op.kind)) return write.call(kind, {v});
  switch (op.kind) {
    case PostOpKind::kClip:
      return writeClip(write, op, v);
    case PostOpKind::kGeluErf:
      return write.call("aten::gelu", {v, write.word("none")});
    case PostOpKind::kGeluTanh:
      return write.call("aten::gelu", {v, write.word("tanh")});
    case PostOpKind::kLeakyRelu:
      return write.call("aten::leaky_relu", {v, write.number(op.alpha)});
    case PostOpKind::kElu:
      return write.call("aten::elu", {v, write.number(op.alpha), write.integer(1), write.integer(1)});
    case PostOpKind::kSoftplus:
      return write.call("aten::softplus", {v, write.number(op.alpha), write.number(op.beta)});
    case PostOpKind::kSquare:
      return write.call("aten::pow", {v, write.integer(2)});
    case PostOpKind::kPow:
      return write.call("aten::pow", {v, write.number(op.alpha)});
    case PostOpKind::kLinear:
      return writeLinear(write, op, v);
    default:
      break;
  }
  IPEX_CHECK(false, "a post-operation has no stock form");
  return nullptr;
}

Value* writeBinary(StockWriter& write, const PostOp& op, Value* v, Value* operand) {
  switch (op.kind) {
    case PostOpKind::kAdd:
      return write.plus(v, operand, op.alpha);
    case PostOpKind::kSub:
      return write.minus(v, operand, op.alpha);
    case PostOpKind::kRsub:
      return write.minus(write.scaled(operand, op.alpha), v, 1);
    case PostOpKind::kMul:
      return write.call("aten::mul", {v, operand});
    case PostOpKind::kDiv:
      return write.call("aten::div", {v, operand});
    case PostOpKind::kRdiv:
      return write.call("aten::div", {operand, v});
    case PostOpKind::kMax:
      return write.call("aten::maximum", {v, operand});
    case PostOpKind::kMin:
      return write.call("aten::minimum", {v, operand});
    default:
      break;
  }
  IPEX_CHECK(false, "a post-operation has no stock form");
  return nullptr;
}

}  // namespace

bool hasStockBf16(const std::vector<PostOp>& post_ops) {
  return std::none_of(post_ops.begin(), post_ops.end(), [](const PostOp& op) { return op.kind == PostOpKind::kMish; });
}

Value* writePostOps(StockWriter& write, const FusedOp& op, Value* v) {
  for (const PostOp& post_op : op.spec.post_ops) {
    if (!isBinary(post_op.kind)) {
      v = writeUnary(write, post_op, v);
      continue;
    }
    if (static_cast<std::size_t>(post_op.operand) >= op.post_args.size()) {
      throw Error(ExitCode::kBadModel,
                  "A fused operation names an operand that it does not have; export the model again.");
    }
    v = writeBinary(write, post_op, v, op.post_args[static_cast<std::size_t>(post_op.operand)]);
  }
  return v;
}

Value* writeRounded(StockWriter& write, const FusedOp& op, Value* v) {
  const std::string result = op.spec.stringOr("result", "");
  if (result != "u8" && result != "s8") return v;
  const std::int64_t low = result == "u8" ? 0 : -128;
  return write.call("aten::clamp", {write.call("aten::round", {v}), write.integer(low), write.integer(low + 255)});
}

}  // namespace ipex_studio
