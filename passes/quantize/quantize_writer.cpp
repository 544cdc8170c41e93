#include "passes/quantize/quantize_writer.h"

#include <algorithm>

namespace ipex_studio {

using torch::jit::Node;
using torch::jit::Value;

Node* placeBehind(Value* value, Node* before) {
  if (value->node()->kind() == c10::prim::Param) return *before->owningGraph()->nodes().begin();
  return value->node()->next();
}

IntegerWeights integerWeightsOf(const QuantizedOp& quantized, int bits, bool bias_correction) {
  const QuantizableOp& quantizable = quantized.quantizable;
  at::Tensor weights = constantTensor(quantizable.op.src[1].value)->detach().to(at::kFloat);
  if (!quantized.smoothing.empty()) weights = weights * at::tensor(quantized.smoothing, at::kDouble).to(at::kFloat);
  const QuantizedWeights integers = quantizeWeights(weights, bits);
  at::Tensor bias;
  if (quantizable.op.src.size() > 2 && !quantizable.op.src[2].absent())
    bias = constantTensor(quantizable.op.src[2].value)->detach().to(at::kDouble);
  if (bias_correction && quantized.input != nullptr && quantized.smoothing.empty() &&
      !quantized.input->channel_mean.empty()) {
    const at::Tensor shift =
        biasShift(weights, integers, quantized.input->channel_mean, quantizable.op.spec.intOr("groups", 1));
    if (shift.defined()) bias = bias.defined() ? bias + shift : shift;
  }
  return {integers.integers, integers.scales, bias};
}

Value* QuantizeWriter::now(Value* value) const {
  const auto found = now_.find(value);
  return found == now_.end() ? value : found->second;
}

Value* QuantizeWriter::pointwise(Value* x, std::vector<PostOp> chain, const std::vector<Value*>& operands,
                                 at::ScalarType dtype, Node* before) {
  Value* result = writePointwise(rewriter_, x, std::move(chain), operands, dtype, before);
  if (isInteger(x)) readers_.insert(result->node());
  return result;
}

Value* QuantizeWriter::asInteger(Value* value, const AffineParameters& wanted, Node* before) {
  const auto own = integers_.find(value);
  if (own != integers_.end() && own->second.scale == wanted.scale && own->second.zero_point == wanted.zero_point)
    return value;
  Value*& made = made_integer_[{value, wanted.scale, wanted.zero_point}];
  if (made != nullptr) return made;
  std::vector<PostOp> chain;
  if (own != integers_.end()) appendPostOp(&chain, toReal(own->second));
  appendPostOp(&chain, toInteger(wanted));
  made = pointwise(value, std::move(chain), {}, at::kByte, placeBehind(value, before));
  integers_[made] = wanted;
  order_.push_back(made);
  return made;
}

Value* QuantizeWriter::asSmoothed(Value* value, const AffineParameters& wanted, const std::vector<double>& factors,
                                  Node* before) {
  Value*& made = made_smoothed_[value];
  if (made != nullptr) return made;
  Node* place = placeBehind(value, before);
  const at::Tensor inverse = at::tensor(factors, at::kDouble).reciprocal().to(at::kFloat);
  std::vector<PostOp> chain{binaryPostOp(PostOpKind::kMul, 0)};
  appendPostOp(&chain, toInteger(wanted));
  made = pointwise(value, std::move(chain), {rewriter_.constant(inverse, place)}, at::kByte, place);
  integers_[made] = wanted;
  order_.push_back(made);
  return made;
}

Value* QuantizeWriter::asFloat(Value* value, Node* before) {
  const auto own = integers_.find(value);
  if (own == integers_.end()) return value;
  Value*& made = made_float_[value];
  if (made == nullptr) made = pointwise(value, {toReal(own->second)}, {}, at::kFloat, placeBehind(value, before));
  return made;
}

bool QuantizeWriter::concerns(const QuantizedOp& quantized) const {
  const auto& activations = quantized.quantizable.activations;
  return quantized.forms.in || quantized.forms.out ||
         std::any_of(activations.begin(), activations.end(), [&](Value* value) { return isInteger(now(value)); });
}

void QuantizeWriter::write(const QuantizedOp& quantized) {
  switch (quantized.quantizable.role) {
    case QuantizableRole::kProduct:
      return writeProduct(quantized);
    case QuantizableRole::kPointwise:
      return writeChain(quantized);
    case QuantizableRole::kMoves:
    case QuantizableRole::kAverages:
      return writeMove(quantized);
    case QuantizableRole::kAttention:
      return writeAttention(quantized);
  }
}

void QuantizeWriter::replace(const QuantizedOp& quantized, FusedOp op, const char* text) {
  Node* old = quantized.quantizable.node;
  if (quantized.forms.out) {
    appendPostOp(&op.spec.post_ops, toInteger(quantized.result));
    op.spec.attributes["result"] = std::string("u8");
  }
  Node* node = writeFusedOp(rewriter_, op, old);
  Value* result = node->output();
  result->setType(old->output()->type());
  setDtype(result, quantized.forms.out ? at::kByte : at::kFloat);
  readers_.insert(node);
  for (Value* operand : op.post_args) {
    if (isInteger(operand))
      readers_.insert(node->input(static_cast<std::size_t>(baseSourceCount(op.spec.kind)))->node());
  }
  now_[old->output()] = result;
  if (quantized.forms.out) {
    integers_[result] = quantized.result;
    order_.push_back(result);
  }
  rewriter_.replace({old}, old->output(), result, text);
}

void QuantizeWriter::appendChain(const QuantizedOp& quantized, FusedOp* op) {
  const QuantizableOp& quantizable = quantized.quantizable;
  const auto base = static_cast<std::size_t>(baseSourceCount(quantizable.op.spec.kind));
  const auto shift = static_cast<std::int32_t>(op->post_args.size());
  std::vector<std::optional<AffineParameters>> integer(quantizable.op.src.size());
  for (std::size_t s = base; s < quantizable.op.src.size(); ++s) {
    Value* value = operandValue(rewriter_, quantizable.op.src[s], quantizable.node);
    if (quantizable.op.src[s].value != nullptr) value = now(value);
    std::size_t activation = quantizable.positions.size();
    for (std::size_t a = 0; a < quantizable.positions.size(); ++a) {
      if (quantizable.positions[a] == s) activation = a;
    }
    if (isInteger(value) && activation < quantizable.positions.size() && quantizable.takesIntegers(activation)) {
      integer[s] = integers_.at(value);
    } else {
      value = asFloat(value, quantizable.node);
    }
    op->post_args.push_back(value);
  }
  for (PostOp post_op : quantizable.op.spec.post_ops) {
    if (!isBinary(post_op.kind)) {
      appendPostOp(&op->spec.post_ops, post_op);
      continue;
    }
    const auto& affine = integer[base + static_cast<std::size_t>(post_op.operand)];
    post_op.operand += shift;
    if (!affine) {
      op->spec.post_ops.push_back(post_op);
      continue;
    }
    appendSumOfIntegers(&op->spec.post_ops, post_op, *affine);
  }
}

void QuantizeWriter::writeProduct(const QuantizedOp& quantized) {
  const QuantizableOp& quantizable = quantized.quantizable;
  Value* x = now(quantizable.op.src[0].value);
  FusedOp op;
  op.spec.kind = quantizable.op.spec.kind;
  op.spec.attributes = quantizable.op.spec.attributes;
  const AffineParameters& source = quantized.activations[0];
  x = quantized.smoothing.empty() || isInteger(x) ? asInteger(x, source, quantizable.node)
                                                  : asSmoothed(x, source, quantized.smoothing, quantizable.node);
  if (source.zero_point != 0) op.spec.attributes["src_zero"] = source.zero_point;
  if (quantizable.op.spec.kind == OpKind::kMatmul) {
    Value* other = asInteger(now(quantizable.op.src[1].value), quantized.activations[1], quantizable.node);
    if (quantized.activations[1].zero_point != 0)
      op.spec.attributes["weight_zero"] = quantized.activations[1].zero_point;
    op.base = {x, other};
    op.spec.attributes.erase("scale");
    op.spec.post_ops = {
        unaryPostOp(PostOpKind::kLinear,
                    source.scale * quantized.activations[1].scale * quantizable.op.spec.floatOr("scale", 1), 0)};
  } else {
    op.base = {x, nullptr, nullptr};
    setIntegerWeights(rewriter_, integerWeightsOf(quantized, weight_bits_, bias_correction_), source.scale, &op,
                      quantizable.node);
  }
  appendChain(quantized, &op);
  replace(quantized, std::move(op), "computes in INT8, accumulates in 32 bits");
}

void QuantizeWriter::writeChain(const QuantizedOp& quantized) {
  const QuantizableOp& quantizable = quantized.quantizable;
  FusedOp op;
  op.spec.kind = OpKind::kPointwise;
  op.spec.attributes = quantizable.op.spec.attributes;
  Value* x = now(quantizable.op.src[0].value);
  if (quantized.forms.in) {
    x = asInteger(x, quantized.activations[0], quantizable.node);
    appendPostOp(&op.spec.post_ops, toReal(quantized.activations[0]));
  } else {
    x = asFloat(x, quantizable.node);
  }
  op.base = {x};
  appendChain(quantized, &op);
  replace(quantized, std::move(op), "follows its operands in INT8");
}

void QuantizeWriter::writeAttention(const QuantizedOp& quantized) {
  const QuantizableOp& quantizable = quantized.quantizable;
  FusedOp op;
  op.spec = quantizable.op.spec;
  for (const LoweredOperand& operand : quantizable.op.src) {
    Value* value = operandValue(rewriter_, operand, quantizable.node);
    op.base.push_back(operand.value == nullptr ? value : asFloat(now(value), quantizable.node));
  }
  replace(quantized, std::move(op), "writes INT8 for the products behind it");
}

// The node stays; its operands and results become integers, or for means numbers in units of the scale.
void QuantizeWriter::writeMove(const QuantizedOp& quantized) {
  const QuantizableOp& quantizable = quantized.quantizable;
  Node* node = quantizable.node;
  const auto convert = [&](Node* holder, std::size_t index) {
    Value* value = holder->input(index);
    for (std::size_t a = 0; a < quantizable.activations.size(); ++a) {
      if (now(quantizable.activations[a]) != value) continue;
      rewriter_.replaceInput(
          holder, index, asInteger(value, quantized.forms.out ? quantized.result : quantized.activations[a], holder));
      readers_.insert(holder);
      return;
    }
  };
  for (std::size_t i = 0; i < node->inputs().size(); ++i) {
    Value* input = node->input(i);
    if (input->node()->kind() == c10::prim::ListConstruct && input->type()->isSubtypeOf(*c10::ListType::ofTensors())) {
      for (std::size_t e = 0; e < input->node()->inputs().size(); ++e) convert(input->node(), e);
    } else {
      convert(node, i);
    }
  }
  Value* result = node->output();
  if (quantized.forms.out) {
    setDtype(result, at::kByte);
    integers_[result] = quantized.result;
    order_.push_back(result);
    rewriter_.finish(node, "moves integers");
    return;
  }
  Value* real = pointwise(result, {toReal(quantized.activations[0])}, {}, at::kFloat, node->next());
  result->replaceAllUsesAfterNodeWith(real->node(), real);
  now_[result] = real;
  rewriter_.finish(node, "reads integers");
}

void QuantizeWriter::returnToFloat() {
  for (std::size_t i = 0; i < order_.size(); ++i) {
    Value* value = order_[i];
    std::vector<torch::jit::Use> unaware;
    for (const auto& use : value->uses()) {
      if (readers_.count(use.user) == 0) unaware.push_back(use);
    }
    if (unaware.empty()) continue;
    Value* real = asFloat(value, value->node());
    for (const torch::jit::Use& use : unaware) rewriter_.replaceInput(use.user, use.offset, real);
    rewriter_.finish(value->node(), "returns to FP32 for what keeps it");
  }
}

}  // namespace ipex_studio
