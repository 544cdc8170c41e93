// Operations on quantized tensors that compute, as canonicalize-quantized writes them.
#include <algorithm>

#include "passes/quantize/quantized_activation.h"
#include "passes/quantize/quantized_reader.h"
#include "passes/quantize/requantization.h"

namespace ipex_studio {

using torch::jit::Node;
using torch::jit::Value;

void QuantizedReader::finish(Node* node, Value* result, const std::optional<AffineParameters>& affine,
                             const char* text) {
  if (affine) integers_.add(result, *affine);
  integers_.addReader(result->node());
  rewriter_.replace({node}, node->output(), result, text);
  changed_ = true;
}

Value* QuantizedReader::typed(Node* made, const Node* like, at::ScalarType dtype) {
  made->output()->setType(like->output()->type());
  setDtype(made->output(), dtype);
  return made->output();
}

Decline QuantizedReader::chain(Node* node, Value* x, std::vector<PostOp> post_ops, const std::vector<Value*>& operands,
                               const AffineParameters& result) {
  appendPostOp(&post_ops, toInteger(result));
  return wholeChain(node, x, std::move(post_ops), operands, result);
}

Decline QuantizedReader::wholeChain(Node* node, Value* x, std::vector<PostOp> post_ops,
                                    const std::vector<Value*>& operands, const AffineParameters& result) {
  Value* made = writePointwise(rewriter_, x, std::move(post_ops), operands, at::kByte, node);
  made->setType(node->output()->type());
  setDtype(made, at::kByte);
  finish(node, made, result, "computes on integers");
  return {};
}

Decline QuantizedReader::quantize(Node* node) {
  const auto dtype = constantInt(node->input(3));
  if (knownDtype(node->input(0)) != at::kFloat || dtype != static_cast<std::int64_t>(at::kQUInt8)) {
    return {reasons::kUnsupportedDtype, "Only FP32 becomes plain integers, and only unsigned ones of 8 bits."};
  }
  const auto affine = constantQuantization(node->input(1), node->input(2));
  if (!affine) return notConstantInModel("scale");
  if (!rewriter_.permit(node)) return {};
  return chain(node, node->input(0), {}, {}, *affine);
}

Decline QuantizedReader::dequantize(Node* node) {
  if (const auto constant = constantTensor(node->input(0))) {
    if (!rewriter_.permit(node)) return {};
    finish(node, rewriter_.constant(constant->dequantize(), node), std::nullopt, "computed dequantize");
    return {};
  }
  const AffineParameters* affine = affineOf(node->input(0));
  if (affine == nullptr) return notConstantInModel("scale");
  if (!rewriter_.permit(node)) return {};
  Value* made = writePointwise(rewriter_, node->input(0), {toReal(*affine)}, {}, at::kFloat, node);
  made->setType(node->output()->type());
  finish(node, made, std::nullopt, "returns to FP32");
  return {};
}

Decline QuantizedReader::product(Node* node, FusedOp op, const PackedParameters& packed) {
  const AffineParameters* source = affineOf(node->input(0));
  if (source == nullptr) return notConstantInModel("operand's scale");
  const auto result = constantQuantization(node->input(2), node->input(3));
  if (!result) return notConstantInModel("scale");
  if (!rewriter_.permit(node)) return {};
  if (source->zero_point != 0) op.spec.attributes["src_zero"] = source->zero_point;
  op.base = {node->input(0), nullptr, nullptr};
  setIntegerWeights(rewriter_, {packed.integers, packed.scales, packed.bias}, source->scale, &op, node);
  if (isWithRelu(node)) op.spec.post_ops.push_back(unaryPostOp(PostOpKind::kRelu));
  appendPostOp(&op.spec.post_ops, toInteger(*result));
  op.spec.attributes["result"] = std::string("u8");
  finish(node, typed(writeFusedOp(rewriter_, op, node), node, at::kByte), *result, "computes on integers");
  return {};
}

bool QuantizedReader::isWithRelu(const Node* node) {
  return std::string(node->kind().toUnqualString()).find("_relu") != std::string::npos;
}

Decline QuantizedReader::convolution(Node* node) {
  std::string why;
  const auto packed = node->inputs().size() == 4 ? unpackConvolution2d(node->input(1), &why) : std::nullopt;
  if (!packed) return {reasons::kUnsupportedAttribute, why.empty() ? "It has the form of an old version." : why};
  FusedOp op;
  op.spec.kind = OpKind::kConvolution;
  op.spec.attributes = {{"stride", packed->stride},
                        {"padding", packed->padding},
                        {"dilation", packed->dilation},
                        {"groups", packed->groups}};
  return product(node, std::move(op), *packed);
}

Decline QuantizedReader::linear(Node* node) {
  std::string why;
  const auto packed = unpackLinear(node->input(1), &why);
  if (!packed) return {reasons::kUnsupportedAttribute, why};
  FusedOp op;
  op.spec.kind = OpKind::kLinear;
  return product(node, std::move(op), *packed);
}

Decline QuantizedReader::linearDynamic(Node* node) {
  if (knownDtype(node->input(0)) != at::kFloat)
    return {reasons::kUnsupportedDtype, "Its operand is not known to be FP32."};
  std::string why;
  const auto packed = unpackLinear(node->input(1), &why);
  if (!packed) return {reasons::kUnsupportedAttribute, why};
  if (!rewriter_.permit(node)) return {};
  FusedOp op;
  op.spec.kind = OpKind::kLinear;
  op.spec.attributes["dynamic"] = std::int64_t{1};
  op.base = {node->input(0), nullptr, nullptr};
  setIntegerWeights(rewriter_, {packed->integers, packed->scales, packed->bias}, 1, &op, node);
  if (isWithRelu(node)) op.spec.post_ops.push_back(unaryPostOp(PostOpKind::kRelu));
  finish(node, typed(writeFusedOp(rewriter_, op, node), node, at::kFloat), std::nullopt,
         "rounds rows of its operand, computes on integers");
  return {};
}

Decline QuantizedReader::binaryOperands(Node* node, const AffineParameters** a, const AffineParameters** b,
                                        std::optional<AffineParameters>* result) {
  *a = affineOf(node->input(0));
  *b = node->inputs().size() == 4 ? affineOf(node->input(1)) : nullptr;
  if (*a == nullptr || *b == nullptr) return notConstantInModel("operands' scale");
  *result = constantQuantization(node->input(2), node->input(3));
  return *result ? Decline{} : notConstantInModel("scale");
}

bool QuantizedReader::startsAt(const Node* node, std::size_t side) {
  return knownSizes(node->input(side)) == knownSizes(node->output());
}

Decline QuantizedReader::add(Node* node) {
  const AffineParameters *a = nullptr, *b = nullptr;
  std::optional<AffineParameters> result;
  if (const Decline why = binaryOperands(node, &a, &b, &result)) return why;
  const std::size_t first = startsAt(node, 0) ? 0 : 1;
  if (!startsAt(node, first)) return {reasons::kBroadcast, "Both operands are smaller than the result."};
  if (!rewriter_.permit(node)) return {};
  std::vector<PostOp> post_ops{toReal(first == 0 ? *a : *b)};
  appendSumOfIntegers(&post_ops, binaryPostOp(PostOpKind::kAdd, 0), first == 0 ? *b : *a);
  if (isWithRelu(node)) post_ops.push_back(unaryPostOp(PostOpKind::kRelu));
  return chain(node, node->input(first), std::move(post_ops), {node->input(1 - first)}, *result);
}

Decline QuantizedReader::multiply(Node* node) {
  const AffineParameters *a = nullptr, *b = nullptr;
  std::optional<AffineParameters> result;
  if (const Decline why = binaryOperands(node, &a, &b, &result)) return why;
  const bool turn = !startsAt(node, 0) || (b->zero_point != 0 && a->zero_point == 0 && startsAt(node, 1));
  const std::size_t first = turn ? 1 : 0;
  if (!startsAt(node, first)) return {reasons::kBroadcast, "Both operands are smaller than the result."};
  if (!rewriter_.permit(node)) return {};
  if (turn) std::swap(a, b);
  Value* factor = node->input(1 - first);
  std::vector<PostOp> post_ops{toReal(*a)};
  if (b->zero_point == 0) {
    appendPostOp(&post_ops, unaryPostOp(PostOpKind::kLinear, b->scale, 0));
  } else {
    factor = writePointwise(rewriter_, factor, {toReal(*b)}, {}, at::kFloat, node);
    integers_.addReader(factor->node());
  }
  post_ops.push_back(binaryPostOp(PostOpKind::kMul, 0));
  if (isWithRelu(node)) post_ops.push_back(unaryPostOp(PostOpKind::kRelu));
  return chain(node, node->input(first), std::move(post_ops), {factor}, *result);
}

Decline QuantizedReader::activation(Node* node) {
  const AffineParameters* source = affineOf(node->input(0));
  if (source == nullptr) return notConstantInModel("operand's scale");
  const auto read = readQuantizedActivation(node, *source);
  if (!read) return notConstantInModel("scale or bound");
  if (!rewriter_.permit(node)) return {};
  return wholeChain(node, node->input(0), read->post_ops, {}, read->result);
}

}  // namespace ipex_studio
