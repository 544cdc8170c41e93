#include "core/graph/decompose.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>

#include "core/graph/fused_op.h"
#include "core/graph/narrow_tensors.h"
#include "core/plan/error.h"

namespace ipex_studio {

using torch::jit::Node;
using torch::jit::Value;

namespace {

// Writes stock nodes in front of the fused one.
class Writer {
 public:
  Writer(Rewriter& rewriter, Node* fused) : rewriter_(rewriter), fused_(fused) {}

  Value* call(const char* kind, at::ArrayRef<Value*> inputs) {
    return rewriter_.create(kind, inputs, fused_)->output();
  }
  // The first of several results.
  Value* first(const char* kind, at::ArrayRef<Value*> inputs, std::size_t outputs) {
    return rewriter_.create(kind, inputs, fused_, outputs)->output(0);
  }
  Value* none() { return rewriter_.none(fused_); }
  Value* number(double value) { return rewriter_.constant(value, fused_); }
  Value* integer(std::int64_t value) { return rewriter_.constant(value, fused_); }
  Value* tensor(const at::Tensor& value) { return rewriter_.constant(value, fused_); }
  Value* flag(bool value) { return rewriter_.constant(value, fused_); }
  Value* word(const char* value) { return rewriter_.constant(std::string(value), fused_); }
  Value* integers(const std::vector<std::int64_t>& values) {
    return rewriter_.constant(c10::List<std::int64_t>(values), fused_);
  }
  // value·factor, or the value itself.
  Value* scaled(Value* value, double factor) {
    return factor == 1 ? value : call("aten::mul", {value, number(factor)});
  }
  Value* plus(Value* a, Value* b, double factor) { return call("aten::add", {a, b, alpha(factor)}); }
  Value* minus(Value* a, Value* b, double factor) { return call("aten::sub", {a, b, alpha(factor)}); }

  // Factors are written as integers where they are, as the frontend does for the default of 1.
  Value* alpha(double factor) { return factor == 1 ? integer(1) : number(factor); }

  Value* list(at::ArrayRef<Value*> elements, const c10::TypePtr& type) {
    Node* made = rewriter_.create("prim::ListConstruct", elements, fused_);
    made->output()->setType(type);
    return made->output();
  }

 private:
  Rewriter& rewriter_;
  Node* fused_;
};

Value* bound(Writer& write, double value) { return std::isinf(value) ? write.none() : write.number(value); }

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

Value* writeLinear(Writer& write, const PostOp& op, Value* v) {
  Value* product = write.scaled(v, op.alpha);
  return op.beta == 0 ? product : write.plus(product, write.number(op.beta), 1);
}

Value* writeClip(Writer& write, const PostOp& op, Value* v) {
  if (std::isinf(op.alpha) && std::isinf(op.beta)) return v;
  return write.call("aten::clamp", {v, bound(write, op.alpha), bound(write, op.beta)});
}

Value* writeUnary(Writer& write, const PostOp& op, Value* v) {
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

Value* writeBinary(Writer& write, const PostOp& op, Value* v, Value* operand) {
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

Value* writePostOps(Writer& write, const FusedOp& op, Value* v) {
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

// `x` with zeros around it, for padding that differs between begin and end: last axis first, as the operator wants it.
Value* writePadding(Writer& write, Value* x, const std::vector<std::int64_t>& begin,
                    const std::vector<std::int64_t>& end) {
  std::vector<std::int64_t> pads;
  for (std::size_t axis = begin.size(); axis-- > 0;) {
    pads.push_back(begin[axis]);
    pads.push_back(end[axis]);
  }
  return write.call("aten::constant_pad_nd", {x, write.integers(pads), write.integer(0)});
}

// Integers are written as the floats that hold them: stock operators have no such sums, and up to 2^24 these are exact.
Value* withoutZero(Writer& write, Value* x, const FusedOp& op, const char* attribute) {
  const std::int64_t zero = op.spec.intOr(attribute, 0);
  return zero == 0 ? x : write.minus(x, write.integer(zero), 1);
}

Value* asFloats(Writer& write, Value* weights) {
  const auto constant = constantTensor(weights);
  if (!constant || constant->scalar_type() != at::kChar) return weights;
  return write.tensor(constant->to(at::kFloat));
}

Value* writeRounded(Writer& write, const FusedOp& op, Value* v) {
  const std::string result = op.spec.stringOr("result", "");
  if (result != "u8" && result != "s8") return v;
  const std::int64_t low = result == "u8" ? 0 : -128;
  return write.call("aten::clamp", {write.call("aten::round", {v}), write.integer(low), write.integer(low + 255)});
}

Value* writeConvolution(Writer& write, const FusedOp& op) {
  const bool transposed = op.spec.kind == OpKind::kDeconvolution;
  Value* x = withoutZero(write, op.base[0], op, "src_zero");
  std::vector<std::int64_t> padding = op.spec.ints("padding");
  const std::vector<std::int64_t> end = op.spec.ints("padding_end");
  if (end.size() == padding.size() && end != padding) {
    IPEX_CHECK(!transposed, "a transposed convolution has symmetric padding");
    x = writePadding(write, x, padding, end);
    padding.assign(padding.size(), 0);
  }
  std::vector<std::int64_t> output_padding = op.spec.ints("output_padding");
  output_padding.resize(padding.size(), 0);
  return write.call("aten::convolution",
                    {x, asFloats(write, op.base[1]), op.base[2], write.integers(op.spec.ints("stride")), write.integers(padding),
                     write.integers(op.spec.ints("dilation")), write.flag(transposed), write.integers(output_padding),
                     write.integer(op.spec.intOr("groups", 1))});
}

Value* writeMatmul(Writer& write, const FusedOp& op) {
  const auto side = [&](std::size_t i, const char* flag, const char* zero) {
    Value* x = withoutZero(write, asFloats(write, op.base[i]), op, zero);
    return op.spec.intOr(flag, 0) == 0 ? x : write.call("aten::transpose", {x, write.integer(-2), write.integer(-1)});
  };
  Value* a = side(0, "transpose_a", "src_zero");
  Value* product = write.call("aten::matmul", {a, side(1, "transpose_b", "weight_zero")});
  return write.scaled(product, op.spec.floatOr("scale", 1));
}

Value* writeFullyConnected(Writer& write, const FusedOp& op) {
  const std::int64_t group = op.spec.intOr("group", 0);
  if (group == 0) return write.call("aten::linear", {withoutZero(write, op.base[0], op, "src_zero"), asFloats(write, op.base[1]), op.base[2]});
  const auto integers = constantTensor(op.base[1]), scales = constantTensor(op.base[2]);
  IPEX_CHECK(integers && scales, "weights in groups are constants");
  const auto bits = static_cast<int>(op.spec.intOr("bits", 8));
  const std::int64_t depth = op.spec.intOr("depth", integers->size(-1));
  return write.call("aten::linear", {op.base[0], write.tensor(widenGroups(*integers, *scales, bits, group, depth)), write.none()});
}

// As convolutions of one pixel.
Value* writeSqueezeExcite(Writer& write, const FusedOp& op) {
  const auto axes = static_cast<std::size_t>(op.spec.intOr("axes", 2));
  std::vector<std::int64_t> pixels, one(axes, 1), zero(axes, 0);
  for (std::size_t axis = 0; axis < axes; ++axis) pixels.push_back(static_cast<std::int64_t>(axis) + 2);
  Value* v = write.call("aten::mean", {op.base[0], write.integers(pixels), write.flag(true), write.none()});
  for (const std::size_t weights : {1, 3}) {
    auto tensor = constantTensor(op.base[weights]);
    IPEX_CHECK(tensor, "weights of a squeeze-and-excitation block are constants");
    for (std::size_t axis = 0; axis < axes; ++axis) tensor = tensor->unsqueeze(-1);
    v = write.call("aten::convolution", {v, write.tensor(*tensor), op.base[weights + 1], write.integers(one), write.integers(zero),
                                         write.integers(one), write.flag(false), write.integers(zero), write.integer(1)});
    FusedOp activation;
    activation.spec.post_ops.emplace_back();
    namedPostOp(op.spec, weights == 1 ? "activation" : "gate", &activation.spec.post_ops[0]);
    v = writePostOps(write, activation, v);
  }
  return write.call("aten::mul", {op.base[0], v});
}

Value* writeBase(Writer& write, const FusedOp& op) {
  switch (op.spec.kind) {
    case OpKind::kConvolution:
    case OpKind::kDeconvolution:
      return writeConvolution(write, op);
    case OpKind::kLinear:
      return writeFullyConnected(write, op);
    case OpKind::kMatmul:
      return writeMatmul(write, op);
    case OpKind::kSqueezeExcite:
      return writeSqueezeExcite(write, op);
    default:
      return op.base[0];
  }
}

// Tables whose rows carry scale and offset become FP32 ones.
Value* writeEmbedding(Writer& write, Node* node, const OpSpec& spec) {
  const bool bags = spec.kind == OpKind::kEmbeddingBag;
  const auto rows = constantTensor(node->input(bags ? 2 : 1));
  IPEX_CHECK(rows, "a table of integers is constant");
  Value* table = write.tensor(widenScaledRows(*rows));
  Value *no = write.flag(false), *ids = node->input(0);
  if (!bags) return write.call("aten::embedding", {table, ids, write.integer(-1), no, no});
  Value* mode = write.integer(spec.stringOr("mode", "sum") == "mean" ? 1 : 0);
  Value* last = write.flag(spec.intOr("include_last_offset", 0) != 0);
  return write.first("aten::embedding_bag", {table, ids, node->input(1), no, mode, no, write.none(), last, write.none()}, 4);
}

Value* writeSoftmax(Writer& write, const Node* node, const OpSpec& spec) {
  Value* scores = write.scaled(const_cast<Node*>(node)->input(0), spec.floatOr("scale", 1));
  if (!isNone(node->input(1))) scores = write.plus(scores, const_cast<Node*>(node)->input(1), 1);
  const char* kind = spec.intOr("log", 0) != 0 ? "aten::log_softmax" : "aten::softmax";
  return write.call(kind, {scores, write.integer(spec.intOr("axis", -1)), write.none()});
}

Value* inType(Writer& write, Value* value, at::ScalarType dtype) {
  Value* no = write.flag(false);
  return write.call("aten::to", {value, write.integer(static_cast<std::int64_t>(dtype)), no, no, write.none()});
}

// In the order of float operations that the fused node replaced: scaled scores, mask, softmax, weighted values. In FP32,
// whatever the fused node rounds for its products.
Value* writeAttentionInFloat(Writer& write, Node* node, const OpSpec& spec) {
  const auto operand = [&](std::size_t i) {
    return knownDtype(node->input(i)) == at::kBFloat16 ? inType(write, node->input(i), at::kFloat) : node->input(i);
  };
  Value* mask = node->input(3);
  Value* turned = write.call("aten::transpose", {operand(1), write.integer(-2), write.integer(-1)});
  Value* scores = write.scaled(write.call("aten::matmul", {operand(0), turned}), spec.floatOr("scale", 1));
  if (spec.has("fill")) {
    scores = write.call("aten::masked_fill", {scores, write.call("aten::ne", {mask, write.integer(0)}), write.number(spec.floatOr("fill", 0))});
  } else if (spec.has("keep")) {
    scores = write.call("aten::masked_fill", {scores, write.call("aten::eq", {mask, write.integer(0)}), write.number(spec.floatOr("keep", 0))});
  } else if (!isNone(mask)) {
    scores = write.plus(scores, mask, 1);
  }
  Value* weights = write.call("aten::softmax", {scores, write.integer(-1), write.none()});
  return write.call("aten::matmul", {weights, operand(2)});
}

Value* writeAttention(Writer& write, Node* node, const OpSpec& spec) {
  FusedOp op;
  op.spec = spec;
  Value* result = writeRounded(write, op, writePostOps(write, op, writeAttentionInFloat(write, node, spec)));
  return knownDtype(node->output()) == at::kBFloat16 ? inType(write, result, at::kBFloat16) : result;
}

// The sizes of the last `axes` axes of x, from the factor where there is one, else asked of x at run time.
Value* writeNormalizedSizes(Writer& write, Value* x, const Value* gamma, std::int64_t axes) {
  if (const auto constant = constantTensor(gamma)) return write.integers(constant->sizes().vec());
  std::vector<Value*> sizes;
  for (std::int64_t axis = -axes; axis < 0; ++axis) {
    sizes.push_back(write.call("aten::size", {x, write.integer(axis)}));
    sizes.back()->setType(c10::IntType::get());
  }
  return write.list(sizes, c10::ListType::ofInts());
}

Value* writeRmsNorm(Writer& write, Node* node, Value* x, std::int64_t axes, double eps) {
  std::vector<std::int64_t> last;
  for (std::int64_t axis = -axes; axis < 0; ++axis) last.push_back(axis);
  Value* square = write.call("aten::pow", {x, write.integer(2)});
  Value* mean = write.call("aten::mean", {square, write.integers(last), write.flag(true), write.none()});
  Value* inverse = write.call("aten::rsqrt", {write.plus(mean, write.number(eps), 1)});
  Value* result = write.call("aten::mul", {x, inverse});
  if (!isNone(node->input(1))) result = write.call("aten::mul", {result, node->input(1)});
  return isNone(node->input(2)) ? result : write.plus(result, node->input(2), 1);
}

// The results of the fused node: the normalized sum, and the sum where it returns that.
std::vector<Value*> writeLayerNorm(Writer& write, Node* node, const OpSpec& spec) {
  Value* x = node->input(0);
  if (!isNone(node->input(3))) x = write.plus(x, node->input(3), 1);
  const std::int64_t axes = spec.intOr("axes", 1);
  const double eps = spec.floatOr("eps", 1e-5);
  if (spec.intOr("rms", 0) != 0) return {writeRmsNorm(write, node, x, axes, eps), x};
  Value* sizes = writeNormalizedSizes(write, x, node->input(1), axes);
  Value* norm =
      write.call("aten::layer_norm", {x, sizes, node->input(1), node->input(2), write.number(eps), write.flag(false)});
  return {norm, x};
}

OpSpec specOf(const Node* node) {
  const auto text = torch::jit::toIValue(node->inputs().back());
  if (!text || !text->isString()) {
    throw Error(ExitCode::kBadModel, "A fused operation has no constant description; export the model again.");
  }
  return parseOpSpec(text->toStringRef());
}

std::vector<Value*> writeStock(Writer& write, Node* node) {
  if (const auto op = readFusedOp(node)) return {writeRounded(write, *op, writePostOps(write, *op, writeBase(write, *op)))};
  const OpSpec spec = specOf(node);
  if (spec.kind == OpKind::kEmbedding || spec.kind == OpKind::kEmbeddingBag) return {writeEmbedding(write, node, spec)};
  if (spec.kind == OpKind::kSoftmax) return {writeSoftmax(write, node, spec)};
  if (spec.kind == OpKind::kAttention) return {writeAttention(write, node, spec)};
  IPEX_CHECK(spec.kind == OpKind::kLayerNorm, "a fused operator has no stock form");
  return writeLayerNorm(write, node, spec);
}

bool isFused(const Node* node) {
  static const char* const kKinds[] = {"convolution", "deconvolution", "linear",     "matmul",
                                       "pointwise",   "squeeze_excite", "softmax",       "layer_norm", "add_layer_norm",
                                       "attention",   "embedding",     "embedding_bag"};
  if (node->kind().ns().toUnqualString() != std::string("ipex_studio")) return false;
  for (const char* kind : kKinds) {
    if (std::strcmp(kind, node->kind().toUnqualString()) == 0) return true;
  }
  return false;
}

}  // namespace

void decomposeFusedOps(torch::jit::Graph& graph, Rewriter& rewriter) {
  for (Node* node : allNodes(graph)) {
    if (!rewriter.alive(node) || !isFused(node)) continue;
    IPEX_CHECK(rewriter.permit(), "writing fused operations out has no limit");
    Writer write(rewriter, node);
    std::vector<Value*> results = writeStock(write, node);
    results.resize(node->outputs().size());
    const std::string text = fmt::format("wrote out {}", node->kind().toUnqualString());
    rewriter.replaceAll({node}, node->outputs(), results, text);
  }
}

}  // namespace ipex_studio
