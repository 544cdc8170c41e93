// Reads elementwise aten nodes as post-ops.
#include <limits>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "core/graph/elementwise.h"

namespace ipex_studio {

using torch::jit::Node;
using torch::jit::Value;
namespace aten = torch::jit::aten;

namespace {

bool isTensor(const Value* value) { return value->type()->kind() == c10::TypeKind::TensorType; }

const std::unordered_map<c10::Symbol, PostOpKind>& plainUnaries() {
  static const std::unordered_map<c10::Symbol, PostOpKind> kKinds = {
      {aten::relu, PostOpKind::kRelu},
      {aten::sigmoid, PostOpKind::kSigmoid},
      {aten::tanh, PostOpKind::kTanh},
      {aten::silu, PostOpKind::kSilu},
      {aten::hardswish, PostOpKind::kHardSwish},
      {aten::hardsigmoid, PostOpKind::kHardSigmoid},
      {aten::mish, PostOpKind::kMish},
      {aten::abs, PostOpKind::kAbs},
      {aten::exp, PostOpKind::kExp},
      {aten::log, PostOpKind::kLog},
      {aten::sqrt, PostOpKind::kSqrt},
      {aten::rsqrt, PostOpKind::kRsqrt},
      {aten::square, PostOpKind::kSquare},
      {aten::neg, PostOpKind::kNeg},
      {aten::reciprocal, PostOpKind::kReciprocal},
      {aten::erf, PostOpKind::kErf},
      {aten::floor, PostOpKind::kFloor},
      {aten::round, PostOpKind::kRound},
      {aten::sin, PostOpKind::kSin},
      {aten::cos, PostOpKind::kCos},
  };
  return kKinds;
}

// Kinds with arguments or a second operand, which the functions below read.
const std::unordered_set<c10::Symbol>& kindsWithArguments() {
  static const std::unordered_set<c10::Symbol> kKinds = {
      aten::gelu,       aten::elu,     aten::celu,     aten::threshold, aten::softplus, aten::pow,
      aten::leaky_relu, aten::relu6,   aten::hardtanh, aten::clamp,     aten::clip,     aten::clamp_min,
      aten::clamp_max,  aten::mul,     aten::div,      aten::add,       aten::sub,      aten::rsub,
      aten::max,        aten::maximum, aten::min,      aten::minimum};
  return kKinds;
}

// Reads a bound of clamp: a number, or `open` for None.
std::optional<double> bound(const Value* value, double open) {
  return isNone(value) ? std::optional<double>(open) : constantNumber(value);
}

std::optional<PostOp> clip(std::optional<double> low, std::optional<double> high) {
  if (!low || !high) return std::nullopt;
  return unaryPostOp(PostOpKind::kClip, *low, *high);
}

std::optional<PostOp> readClip(c10::Symbol kind, Node* node) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const std::size_t inputs = node->inputs().size();
  if (kind == aten::relu6 && inputs == 1) return clip(0, 6);
  if (kind == aten::hardtanh && inputs == 3) {
    return clip(constantNumber(node->input(1)), constantNumber(node->input(2)));
  }
  if ((kind == aten::clamp || kind == aten::clip) && inputs == 3) {
    return clip(bound(node->input(1), -kInfinity), bound(node->input(2), kInfinity));
  }
  if (kind == aten::clamp_min && inputs == 2) return clip(constantNumber(node->input(1)), kInfinity);
  if (kind == aten::clamp_max && inputs == 2) return clip(-kInfinity, constantNumber(node->input(1)));
  return std::nullopt;
}

std::optional<PostOp> readGelu(Node* node) {
  if (node->inputs().size() == 1) return unaryPostOp(PostOpKind::kGeluErf);
  const auto approximate = torch::jit::toIValue(node->input(1));
  if (!approximate || !approximate->isString()) return std::nullopt;
  if (approximate->toStringRef() == "none") return unaryPostOp(PostOpKind::kGeluErf);
  if (approximate->toStringRef() == "tanh") return unaryPostOp(PostOpKind::kGeluTanh);
  return std::nullopt;
}

std::optional<PostOp> readElu(Node* node) {
  if (node->inputs().size() != 4) return std::nullopt;
  const auto alpha = constantNumber(node->input(1));
  const auto scale = constantNumber(node->input(2));
  const auto input_scale = constantNumber(node->input(3));
  if (!alpha || scale != 1.0 || input_scale != 1.0) return std::nullopt;
  return unaryPostOp(PostOpKind::kElu, *alpha);
}

// celu(x, 1) is elu(x, 1); other factors divide inside the exponential and are declined.
std::optional<PostOp> readCelu(Node* node) {
  if (node->inputs().size() != 2 || constantNumber(node->input(1)) != 1.0) return std::nullopt;
  return unaryPostOp(PostOpKind::kElu, 1);
}

// threshold(x, 0, 0) is relu
std::optional<PostOp> readThreshold(Node* node) {
  if (node->inputs().size() != 3 || constantNumber(node->input(1)) != 0.0 || constantNumber(node->input(2)) != 0.0)
    return std::nullopt;
  return unaryPostOp(PostOpKind::kRelu);
}

std::optional<PostOp> readSoftplus(Node* node) {
  if (node->inputs().size() != 3) return std::nullopt;
  const auto beta = constantNumber(node->input(1));
  const auto threshold = constantNumber(node->input(2));
  if (!beta || !threshold) return std::nullopt;
  return unaryPostOp(PostOpKind::kSoftplus, *beta, *threshold);
}

std::optional<PostOp> readPow(Node* node) {
  if (node->inputs().size() != 2) return std::nullopt;
  const auto exponent = scalarOperand(node->input(1), node->input(0));
  if (!exponent) return std::nullopt;
  return *exponent == 2 ? unaryPostOp(PostOpKind::kSquare) : unaryPostOp(PostOpKind::kPow, *exponent);
}

// The factor of the second operand of add, sub, rsub; nullopt if it is not constant.
std::optional<double> alphaOf(Node* node) {
  if (node->inputs().size() == 2) return 1.0;
  if (node->inputs().size() != 3) return std::nullopt;
  return constantNumber(node->input(2));
}

// Reads the node as factor·v + offset of the tensor on side `data_index`; the other side is the number c.
std::optional<PostOp> readLinear(c10::Symbol kind, Node* node, std::size_t data_index, double c) {
  double factor = 1;
  double offset = 0;
  if (kind == aten::mul && node->inputs().size() == 2) {
    factor = c;
  } else if (kind == aten::div && node->inputs().size() == 2 && data_index == 0 && c != 0) {
    factor = 1 / c;
  } else if (kind == aten::add || kind == aten::sub || kind == aten::rsub) {
    const auto alpha = alphaOf(node);
    if (!alpha) return std::nullopt;
    // The value is first + second·alpha with signs; rsub(a, b) is b - alpha·a.
    const double first = kind == aten::rsub ? -*alpha : 1;
    const double second = kind == aten::add ? *alpha : kind == aten::sub ? -*alpha : 1;
    factor = data_index == 0 ? first : second;
    offset = c * (data_index == 0 ? second : first);
  } else {
    return std::nullopt;
  }
  return unaryPostOp(PostOpKind::kLinear, factor, offset);
}

// The post-ops of a node with two tensors; empty if it is no binary elementwise operation.
std::vector<PostOp> readBinary(c10::Symbol kind, Node* node, std::size_t data_index) {
  const bool left = data_index == 0;
  if (node->inputs().size() == 2) {
    if (kind == aten::mul) return {binaryPostOp(PostOpKind::kMul, 0)};
    if (kind == aten::div) return {binaryPostOp(left ? PostOpKind::kDiv : PostOpKind::kRdiv, 0)};
    if (kind == aten::max || kind == aten::maximum) return {binaryPostOp(PostOpKind::kMax, 0)};
    if (kind == aten::min || kind == aten::minimum) return {binaryPostOp(PostOpKind::kMin, 0)};
  }
  if (kind != aten::add && kind != aten::sub && kind != aten::rsub) return {};
  const auto alpha = alphaOf(node);
  if (!alpha) return {};
  // rsub(a, b) is sub(b, a): the scaled operand is the first one there.
  const bool scaled_is_data = kind == aten::rsub ? left : !left;
  const PostOpKind plain = kind == aten::add ? PostOpKind::kAdd : scaled_is_data ? PostOpKind::kRsub : PostOpKind::kSub;
  if (!scaled_is_data) return {binaryPostOp(plain, 0, *alpha)};
  if (*alpha == 1) return {binaryPostOp(plain, 0)};
  return {unaryPostOp(PostOpKind::kLinear, *alpha, 0), binaryPostOp(plain, 0)};
}

}  // namespace

bool mayBeElementwise(c10::Symbol kind) {
  return plainUnaries().count(kind) != 0 || kindsWithArguments().count(kind) != 0;
}

std::optional<double> scalarOperand(const Value* value, const Value* data) {
  const auto number = constantNumber(value);
  const auto tensor = constantTensor(value);
  if (!number || !tensor || tensor->dim() == 0) return number;
  const auto sizes = knownSizes(data);
  const bool keeps_rank = sizes && tensor->dim() <= static_cast<std::int64_t>(sizes->size());
  return keeps_rank && knownDtype(data) == tensor->scalar_type() ? number : std::nullopt;
}

std::optional<PostOp> readUnaryPostOp(Node* node) {
  if (node->inputs().empty() || node->outputs().size() != 1 || !isTensor(node->input(0))) return std::nullopt;
  const c10::Symbol kind = node->kind();
  const auto plain = plainUnaries().find(kind);
  if (plain != plainUnaries().end()) {
    return node->inputs().size() == 1 ? std::optional<PostOp>(unaryPostOp(plain->second)) : std::nullopt;
  }
  if (kind == aten::gelu) return readGelu(node);
  if (kind == aten::elu) return readElu(node);
  if (kind == aten::celu) return readCelu(node);
  if (kind == aten::threshold) return readThreshold(node);
  if (kind == aten::softplus) return readSoftplus(node);
  if (kind == aten::pow) return readPow(node);
  if (kind == aten::leaky_relu && node->inputs().size() == 2) {
    const auto slope = constantNumber(node->input(1));
    return slope ? std::optional<PostOp>(unaryPostOp(PostOpKind::kLeakyRelu, *slope)) : std::nullopt;
  }
  if (auto clip = readClip(kind, node)) return clip;
  if (node->inputs().size() < 2) return std::nullopt;
  const auto number = scalarOperand(node->input(1), node->input(0));
  return number ? readLinear(kind, node, 0, *number) : std::nullopt;
}

std::optional<Elementwise> readElementwise(Node* node, std::size_t data_index) {
  if (!mayBeElementwise(node->kind()) || node->outputs().size() != 1 || data_index >= node->inputs().size())
    return std::nullopt;
  Value* data = node->input(data_index);
  if (!isTensor(data)) return std::nullopt;
  if (data_index == 0) {
    if (auto unary = readUnaryPostOp(node)) return Elementwise{data, nullptr, {*unary}};
  }
  if (node->inputs().size() < 2 || data_index > 1) return std::nullopt;
  Value* other = node->input(1 - data_index);
  const c10::Symbol kind = node->kind();
  if (const auto number = scalarOperand(other, data)) {
    const auto linear = readLinear(kind, node, data_index, *number);
    return linear ? std::optional<Elementwise>({data, nullptr, {*linear}}) : std::nullopt;
  }
  if (!isTensor(other)) return std::nullopt;
  std::vector<PostOp> post_ops = readBinary(kind, node, data_index);
  if (post_ops.empty()) return std::nullopt;
  return Elementwise{data, other, std::move(post_ops)};
}

bool broadcastsTo(const std::vector<std::int64_t>& operand, const std::vector<std::int64_t>& result) {
  if (operand.size() > result.size()) return false;
  const std::size_t offset = result.size() - operand.size();
  for (std::size_t i = 0; i < operand.size(); ++i) {
    if (operand[i] != 1 && operand[i] != result[i + offset]) return false;
  }
  return true;
}

}  // namespace ipex_studio
