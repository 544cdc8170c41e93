// One writer per fused operator, and the walk that replaces them all.
#include "core/export/decompose.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>

#include "core/base/error.h"
#include "core/export/decompose_writer.h"
#include "core/export/woq_tensors.h"

namespace ipex_studio {

using torch::jit::Node;
using torch::jit::Value;

namespace {

// Pads `x` with zeros, for padding that differs between begin and end. The operator wants the last axis first.
Value* writePadding(StockWriter& write, Value* x, const std::vector<std::int64_t>& begin,
                    const std::vector<std::int64_t>& end) {
  std::vector<std::int64_t> pads;
  for (std::size_t axis = begin.size(); axis-- > 0;) {
    pads.push_back(begin[axis]);
    pads.push_back(end[axis]);
  }
  return write.call("aten::constant_pad_nd", {x, write.integers(pads), write.integer(0)});
}

// Integers are written as the floats that hold them: stock operators have no integer sums, and up to 2^24 floats are
// exact.
Value* withoutZero(StockWriter& write, Value* x, const FusedOp& op, const char* attribute) {
  const std::int64_t zero = op.spec.intOr(attribute, 0);
  return zero == 0 ? x : write.minus(x, write.integer(zero), 1);
}

Value* asFloats(StockWriter& write, Value* weights) {
  const auto constant = constantTensor(weights);
  if (!constant || constant->scalar_type() != at::kChar) return weights;
  return write.inType(weights, at::kFloat);  // folded once by a program that folds constants; the file keeps bytes
}

bool isOfBf16(const Value* value) { return knownDtype(value) == at::kBFloat16; }

// Converts the bias to BF16 for products of BF16, which take no other in stock PyTorch.
Value* biasOf(StockWriter& write, const FusedOp& op) {
  Value* bias = op.base[2];
  if (!isOfBf16(op.base[0]) || isNone(bias) || isOfBf16(bias)) return bias;
  const auto constant = constantTensor(bias);
  return constant ? write.tensor(constant->to(at::kBFloat16)) : write.inType(bias, at::kBFloat16);
}

Value* writeConvolution(StockWriter& write, const FusedOp& op) {
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
                    {x, asFloats(write, op.base[1]), biasOf(write, op), write.integers(op.spec.ints("stride")),
                     write.integers(padding), write.integers(op.spec.ints("dilation")), write.flag(transposed),
                     write.integers(output_padding), write.integer(op.spec.intOr("groups", 1))});
}

Value* writeMatmul(StockWriter& write, const FusedOp& op) {
  const auto side = [&](std::size_t i, const char* flag, const char* zero) {
    Value* x = withoutZero(write, asFloats(write, op.base[i]), op, zero);
    return op.spec.intOr(flag, 0) == 0 ? x : write.call("aten::transpose", {x, write.integer(-2), write.integer(-1)});
  };
  Value* a = side(0, "transpose_a", "src_zero");
  Value* product = write.call("aten::matmul", {a, side(1, "transpose_b", "weight_zero")});
  return write.scaled(product, op.spec.floatOr("scale", 1));
}

Value* writeFullyConnected(StockWriter& write, const FusedOp& op) {
  const std::int64_t group = op.spec.intOr("group", 0);
  if (group == 0)
    return write.call("aten::linear",
                      {withoutZero(write, op.base[0], op, "src_zero"), asFloats(write, op.base[1]), biasOf(write, op)});
  const auto integers = constantTensor(op.base[1]), scales = constantTensor(op.base[2]);
  IPEX_CHECK(integers && scales, "weights in groups are constants");
  const auto bits = static_cast<int>(op.spec.intOr("bits", 8));
  const std::int64_t depth = op.spec.intOr("depth", integers->size(-1));
  const NibbleLevels* const levels = nibbleLevels(op.spec);
  IPEX_CHECK(levels != nullptr, "shapes were inferred before");
  return write.call(
      "aten::linear",
      {op.base[0], write.tensor(dequantizeGroups(*integers, *scales, bits, group, depth, *levels)), write.none()});
}

// Writes the two products as convolutions of one pixel, in FP32, in which the fused node computes them.
Value* writeSqueezeExcite(StockWriter& write, const FusedOp& op) {
  const auto axes = static_cast<std::size_t>(op.spec.intOr("axes", 2));
  std::vector<std::int64_t> pixels, one(axes, 1), zero(axes, 0);
  for (std::size_t axis = 0; axis < axes; ++axis) pixels.push_back(static_cast<std::int64_t>(axis) + 2);
  Value* const x = isOfBf16(op.base[0]) ? write.inType(op.base[0], at::kFloat) : op.base[0];
  Value* v = write.call("aten::mean", {x, write.integers(pixels), write.flag(true), write.none()});
  for (const std::size_t weights : {1, 3}) {
    auto tensor = constantTensor(op.base[weights]);
    IPEX_CHECK(tensor, "weights of a squeeze-and-excitation block are constants");
    for (std::size_t axis = 0; axis < axes; ++axis) tensor = tensor->unsqueeze(-1);
    v = write.call("aten::convolution",
                   {v, write.tensor(*tensor), op.base[weights + 1], write.integers(one), write.integers(zero),
                    write.integers(one), write.flag(false), write.integers(zero), write.integer(1)});
    FusedOp activation;
    activation.spec.post_ops.emplace_back();
    namedPostOp(op.spec, weights == 1 ? "activation" : "gate", &activation.spec.post_ops[0]);
    v = writePostOps(write, activation, v);
  }
  return write.call("aten::mul", {x, v});
}

// Writes the operation without its chain; a pointwise operation is its first operand.
Value* writeBase(StockWriter& write, const FusedOp& op) {
  using Writer = Value* (*)(StockWriter&, const FusedOp&);
  static const std::map<OpKind, Writer> kWriters = {{OpKind::kConvolution, writeConvolution},
                                                    {OpKind::kDeconvolution, writeConvolution},
                                                    {OpKind::kLinear, writeFullyConnected},
                                                    {OpKind::kMatmul, writeMatmul},
                                                    {OpKind::kSqueezeExcite, writeSqueezeExcite}};
  const auto found = kWriters.find(op.spec.kind);
  return found == kWriters.end() ? op.base[0] : found->second(write, op);
}

// Writes product, chain and rounding. All stay in BF16 if operand and result are BF16 and stock operators know the
// chain; otherwise the chain is computed in FP32, as the fused node does.
Value* writeChain(StockWriter& write, Node* node, const FusedOp& op) {
  Value* v = writeBase(write, op);
  const bool from = isOfBf16(op.base[0]), to = isOfBf16(node->output());
  const bool stays = from && to && op.spec.kind != OpKind::kSqueezeExcite && hasStockBf16(op.spec.post_ops);
  if (from && !stays) v = write.inType(v, at::kFloat);
  v = writeRounded(write, op, writePostOps(write, op, v));
  const bool promoted =
      std::any_of(op.post_args.begin(), op.post_args.end(), [](const Value* operand) { return !isOfBf16(operand); });
  return to && (!stays || promoted) ? write.inType(v, at::kBFloat16) : v;
}

// Tables whose rows carry scale and offset become FP32 tables.
Value* writeEmbedding(StockWriter& write, Node* node, const OpSpec& spec) {
  const bool bags = spec.kind == OpKind::kEmbeddingBag;
  const auto rows = constantTensor(node->input(bags ? 2 : 1));
  IPEX_CHECK(rows, "a table of integers is constant");
  Value* table = write.tensor(dequantizeRows(*rows));
  Value *no = write.flag(false), *ids = node->input(0);
  if (!bags) return write.call("aten::embedding", {table, ids, write.integer(-1), no, no});
  Value* mode = write.integer(spec.stringOr("mode", "sum") == "mean" ? 1 : 0);
  Value* last = write.flag(spec.intOr("include_last_offset", 0) != 0);
  return write.first("aten::embedding_bag",
                     {table, ids, node->input(1), no, mode, no, write.none(), last, write.none()}, 4);
}

Value* writeSoftmax(StockWriter& write, const Node* node, const OpSpec& spec) {
  Value* scores = write.scaled(const_cast<Node*>(node)->input(0), spec.floatOr("scale", 1));
  if (!isNone(node->input(1))) scores = write.plus(scores, const_cast<Node*>(node)->input(1), 1);
  const char* kind = spec.intOr("log", 0) != 0 ? "aten::log_softmax" : "aten::softmax";
  return write.call(kind, {scores, write.integer(spec.intOr("axis", -1)), write.none()});
}

// Keeps the order of the float operations that the fused node replaced: scaled scores, mask, softmax, weighted values.
// Computes in FP32, whatever the fused node rounds for its products.
Value* writeAttentionInFloat(StockWriter& write, Node* node, const OpSpec& spec) {
  const auto operand = [&](std::size_t i) {
    return isOfBf16(node->input(i)) ? write.inType(node->input(i), at::kFloat) : node->input(i);
  };
  Value* mask = node->input(3);
  Value* turned = write.call("aten::transpose", {operand(1), write.integer(-2), write.integer(-1)});
  Value* scores = write.scaled(write.call("aten::matmul", {operand(0), turned}), spec.floatOr("scale", 1));
  if (spec.has("fill")) {
    scores = write.call("aten::masked_fill", {scores, write.call("aten::ne", {mask, write.integer(0)}),
                                              write.number(spec.floatOr("fill", 0))});
  } else if (spec.has("keep")) {
    scores = write.call("aten::masked_fill", {scores, write.call("aten::eq", {mask, write.integer(0)}),
                                              write.number(spec.floatOr("keep", 0))});
  } else if (!isNone(mask)) {
    scores = write.plus(scores, mask, 1);
  }
  Value* weights = write.call("aten::softmax", {scores, write.integer(-1), write.none()});
  return write.call("aten::matmul", {weights, operand(2)});
}

Value* writeAttention(StockWriter& write, Node* node, const OpSpec& spec) {
  FusedOp op;
  op.spec = spec;
  Value* result = writeRounded(write, op, writePostOps(write, op, writeAttentionInFloat(write, node, spec)));
  return isOfBf16(node->output()) ? write.inType(result, at::kBFloat16) : result;
}

// Two tensors side by side in each row: behind each other, or as neighbours.
Value* writeJoined(StockWriter& write, Value* first, Value* second, bool interleaved) {
  Value* both = write.list({first, second}, c10::ListType::ofTensors());
  if (!interleaved) return write.call("aten::cat", {both, write.integer(-1)});
  return write.call("aten::flatten",
                    {write.call("aten::stack", {both, write.integer(-1)}), write.integer(-2), write.integer(-1)});
}

// x·cos + r(x)·sin, in the order of the float operations that the fused node replaced.
Value* writeRotary(StockWriter& write, Node* node, const OpSpec& spec) {
  if (!spec.has("rotated")) {
    throw Error(ExitCode::kBadModel, "The number of rotated values is not known; export the model again.");
  }
  const std::int64_t rotated = spec.intOr("rotated", 0), end = std::numeric_limits<std::int64_t>::max();
  const bool interleaved = spec.intOr("interleaved", 0) != 0;
  Value *const x = node->input(0), *cosines = node->input(1), *sines = node->input(2);
  const auto slice = [&](std::int64_t from, std::int64_t to, std::int64_t step) {
    return write.call("aten::slice",
                      {x, write.integer(-1), write.integer(from), write.integer(to), write.integer(step)});
  };
  Value* first = interleaved ? slice(0, rotated, 2) : slice(0, rotated / 2, 1);
  Value* second = interleaved ? slice(1, rotated, 2) : slice(rotated / 2, rotated, 1);
  if (spec.intOr("half", 0) != 0) {
    cosines = writeJoined(write, cosines, cosines, interleaved);
    sines = writeJoined(write, sines, sines, interleaved);
  }
  Value* turned = writeJoined(write, write.call("aten::neg", {second}), first, interleaved);
  Value* result =
      write.plus(write.call("aten::mul", {slice(0, rotated, 1), cosines}), write.call("aten::mul", {turned, sines}), 1);
  const auto sizes = knownSizes(x);
  if (sizes && sizes->back() == rotated) return result;
  return writeJoined(write, result, slice(rotated, end, 1), false);
}

// The sizes of the last `axes` axes of x, from gamma if it is constant, else asked of x at run time.
Value* writeNormalizedSizes(StockWriter& write, Value* x, const Value* gamma, std::int64_t axes) {
  if (const auto constant = constantTensor(gamma)) return write.integers(constant->sizes().vec());
  std::vector<Value*> sizes;
  for (std::int64_t axis = -axes; axis < 0; ++axis) {
    sizes.push_back(write.call("aten::size", {x, write.integer(axis)}));
    sizes.back()->setType(c10::IntType::get());
  }
  return write.list(sizes, c10::ListType::ofInts());
}

// Divides x by its root mean square, or by its length if the spec asks for that.
Value* writeRowNorm(StockWriter& write, Node* node, Value* x, const OpSpec& spec) {
  std::vector<std::int64_t> last;
  for (std::int64_t axis = -spec.intOr("axes", 1); axis < 0; ++axis) last.push_back(axis);
  Value* eps = write.number(spec.floatOr("eps", 1e-5));
  Value* result = nullptr;
  if (spec.intOr("l2", 0) != 0) {
    Value* length = write.call("aten::norm", {x, write.integer(2), write.integers(last), write.flag(true)});
    result = write.call("aten::div", {x, write.call("aten::clamp_min", {length, eps})});
  } else {
    Value* square = write.call("aten::pow", {x, write.integer(2)});
    Value* mean = write.call("aten::mean", {square, write.integers(last), write.flag(true), write.none()});
    result = write.call("aten::mul", {x, write.call("aten::rsqrt", {write.plus(mean, eps, 1)})});
  }
  if (!isNone(node->input(1))) result = write.call("aten::mul", {result, node->input(1)});
  return isNone(node->input(2)) ? result : write.plus(result, node->input(2), 1);
}

// The results of the fused node: the normalized sum, and the sum if the node returns it.
std::vector<Value*> writeLayerNorm(StockWriter& write, Node* node, const OpSpec& spec) {
  Value* x = node->input(0);
  if (!isNone(node->input(3))) x = write.plus(x, node->input(3), 1);
  const std::int64_t axes = spec.intOr("axes", 1);
  const double eps = spec.floatOr("eps", 1e-5);
  if (spec.intOr("rms", 0) != 0 || spec.intOr("l2", 0) != 0) return {writeRowNorm(write, node, x, spec), x};
  Value* sizes = writeNormalizedSizes(write, x, node->input(1), axes);
  Value* norm =
      write.call("aten::layer_norm", {x, sizes, node->input(1), node->input(2), write.number(eps), write.flag(false)});
  return {norm, x};
}

// Frames as a view, so that one operator of all versions of PyTorch transforms them.
Value* writeFourier(StockWriter& write, Node* node, const OpSpec& spec) {
  const bool framed = spec.has("frame");
  Value* x = node->input(0);
  if (framed) {
    x = write.call("aten::unfold",
                   {x, write.integer(-1), write.integer(spec.intOr("frame", 1)), write.integer(spec.intOr("hop", 1))});
  }
  if (!isNone(node->input(1))) x = write.call("aten::mul", {x, node->input(1)});
  const std::string norm = spec.stringOr("norm", "backward");
  Value* spectrum = write.call("aten::fft_rfft", {x, write.none(), write.integer(-1), write.word(norm.c_str())});
  if (framed) spectrum = write.call("aten::transpose", {spectrum, write.integer(-1), write.integer(-2)});
  return write.call(spec.stringOr("result", "pairs") == "magnitude" ? "aten::abs" : "aten::view_as_real", {spectrum});
}

// The products of all pairs, of which a triangle is read.
Value* writeInteraction(StockWriter& write, Node* node, const OpSpec& spec) {
  if (!spec.has("features")) {
    throw Error(ExitCode::kBadModel, "The number of features is not known; export the model again.");
  }
  const std::int64_t count = spec.intOr("features", 0);
  const auto features = node->input(0)->node()->inputs();
  std::vector<Value*> rows;
  for (Value* feature : features)
    rows.push_back(write.call("aten::flatten", {feature, write.integer(1), write.integer(-1)}));
  Value* side_by_side = write.call("aten::cat", {write.list(rows, c10::ListType::ofTensors()), write.integer(1)});
  Value* samples = write.call("aten::size", {features[0], write.integer(0)});
  Value* width = write.call("aten::size", {features[0], write.integer(-1)});
  for (Value* size : {samples, width}) size->setType(c10::IntType::get());
  Value* sizes = write.list({samples, write.integer(count), width}, c10::ListType::ofInts());
  Value* x = write.call("aten::reshape", {side_by_side, sizes});
  Value* products =
      write.call("aten::bmm", {x, write.call("aten::transpose", {x, write.integer(1), write.integer(2)})});
  const std::int64_t beside = spec.intOr("diagonal", 0) != 0 ? 0 : 1;
  const at::Tensor places = spec.stringOr("triangle", "lower") == "lower" ? at::tril_indices(count, count, -beside)
                                                                          : at::triu_indices(count, count, beside);
  Value* index = write.list({write.none(), write.tensor(places[0].clone()), write.tensor(places[1].clone())},
                            c10::ListType::create(c10::OptionalType::create(c10::TensorType::get())));
  Value* read = write.call("aten::index", {products, index});
  if (spec.intOr("dense", 0) == 0) return read;
  Value* parts = write.list({features[0], read}, c10::ListType::ofTensors());
  return write.call("aten::cat", {parts, write.integer(1)});
}

// Messages that edges carry, scattered to the rows in which the edges end.
Value* writeGatherScatter(StockWriter& write, Node* node, const OpSpec& spec) {
  Value *like = node->input(0), *to = node->input(1), *from = node->input(3), *weights = node->input(4);
  const std::int64_t rank = spec.intOr("rank", 0);
  if (rank < 1) throw Error(ExitCode::kBadModel, "The rank of the features is not known; export the model again.");
  Value* messages = node->input(2);
  if (!isNone(from)) {
    const auto indices = c10::ListType::create(c10::OptionalType::create(c10::TensorType::get()));
    messages = spec.intOr("wrap", 0) != 0 ? write.call("aten::index", {messages, write.list({from}, indices)})
                                          : write.call("aten::index_select", {messages, write.integer(0), from});
  }
  if (!isNone(weights)) messages = write.call("aten::mul", {messages, weights});
  Value* index = to;
  for (std::int64_t axis = 1; axis < rank; ++axis) index = write.call("aten::unsqueeze", {index, write.integer(axis)});
  index = write.call("aten::expand_as", {index, messages});
  const std::string reduction = spec.stringOr("reduction", "add");
  if (reduction == "add") return write.call("aten::scatter_add", {like, write.integer(0), index, messages});
  Value* word = write.word(reduction == "mean" ? "mean" : reduction == "max" ? "amax" : "amin");
  return write.call("aten::scatter_reduce", {like, write.integer(0), index, messages, word, write.flag(false)});
}

OpSpec specOf(const Node* node) {
  const auto text = torch::jit::toIValue(node->inputs().back());
  if (!text || !text->isString()) {
    throw Error(ExitCode::kBadModel, "A fused operation has no constant description; export the model again.");
  }
  return parseOpSpec(text->toStringRef());
}

std::vector<Value*> writeStock(StockWriter& write, Node* node) {
  if (const auto op = readFusedOp(node)) return {writeChain(write, node, *op)};
  const OpSpec spec = specOf(node);
  if (spec.kind == OpKind::kEmbedding || spec.kind == OpKind::kEmbeddingBag) return {writeEmbedding(write, node, spec)};
  if (spec.kind == OpKind::kInteraction) return {writeInteraction(write, node, spec)};
  if (spec.kind == OpKind::kGatherScatter) return {writeGatherScatter(write, node, spec)};
  if (spec.kind == OpKind::kFourier) return {writeFourier(write, node, spec)};
  if (spec.kind == OpKind::kSoftmax) return {writeSoftmax(write, node, spec)};
  if (spec.kind == OpKind::kAttention) return {writeAttention(write, node, spec)};
  if (spec.kind == OpKind::kRotary) return {writeRotary(write, node, spec)};
  IPEX_CHECK(spec.kind == OpKind::kLayerNorm, "a fused operator has no stock form");
  return writeLayerNorm(write, node, spec);
}

bool isFused(const Node* node) {
  static const char* const kKinds[] = {"convolution",    "deconvolution",  "linear",         "matmul",
                                       "pointwise",      "squeeze_excite", "softmax",        "layer_norm",
                                       "add_layer_norm", "attention",      "embedding",      "embedding_bag",
                                       "fourier",        "interaction",    "gather_scatter", "rotary"};
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
    StockWriter write(rewriter, node);
    std::vector<Value*> results = writeStock(write, node);
    results.resize(node->outputs().size());
    const std::string text = fmt::format("wrote out {}", node->kind().toUnqualString());
    rewriter.replaceAll({node}, node->outputs(), results, text);
  }
}

}  // namespace ipex_studio
