#include "passes/quantize/quantize_writer.h"

#include <algorithm>

#include "passes/quantize/quantize_chain.h"

namespace ipex_studio {

using torch::jit::Node;
using torch::jit::Value;

namespace {

// Where a value is converted once for all its readers: right behind what made it.
Node* behind(Value* value, Node* before) {
  if (value->node()->kind() == c10::prim::Param) return *before->owningGraph()->nodes().begin();
  return value->node()->next();
}

}  // namespace

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
  made = pointwise(value, std::move(chain), {}, at::kByte, behind(value, before));
  integers_[made] = wanted;
  order_.push_back(made);
  return made;
}

Value* QuantizeWriter::asSmoothed(Value* value, const AffineParameters& wanted, const std::vector<double>& factors,
                                  Node* before) {
  Value*& made = made_smoothed_[value];
  if (made != nullptr) return made;
  Node* place = behind(value, before);
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
  if (made == nullptr) made = pointwise(value, {toReal(own->second)}, {}, at::kFloat, behind(value, before));
  return made;
}

bool QuantizeWriter::concerns(const QuantizedSite& quantized) const {
  const auto& activations = quantized.site.activations;
  return quantized.forms.in || quantized.forms.out ||
         std::any_of(activations.begin(), activations.end(), [&](Value* value) { return isInteger(now(value)); });
}

void QuantizeWriter::write(const QuantizedSite& quantized) {
  switch (quantized.site.role) {
    case SiteRole::kProduct:
      return writeProduct(quantized);
    case SiteRole::kPointwise:
      return writeChain(quantized);
    case SiteRole::kMoves:
    case SiteRole::kAverages:
      return writeMove(quantized);
    case SiteRole::kAttention:
      return writeAttention(quantized);
  }
}

void QuantizeWriter::replace(const QuantizedSite& quantized, FusedOp op, const char* text) {
  Node* old = quantized.site.node;
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

void QuantizeWriter::appendChain(const QuantizedSite& quantized, FusedOp* op) {
  const Site& site = quantized.site;
  const auto base = static_cast<std::size_t>(baseSourceCount(site.op.spec.kind));
  const auto shift = static_cast<std::int32_t>(op->post_args.size());
  std::vector<std::optional<AffineParameters>> integer(site.op.src.size());
  for (std::size_t s = base; s < site.op.src.size(); ++s) {
    Value* value = operandValue(rewriter_, site.op.src[s], site.node);
    if (site.op.src[s].value != nullptr) value = now(value);
    std::size_t activation = site.positions.size();
    for (std::size_t a = 0; a < site.positions.size(); ++a) {
      if (site.positions[a] == s) activation = a;
    }
    if (isInteger(value) && activation < site.positions.size() && site.takesIntegers(activation)) {
      integer[s] = integers_.at(value);
    } else {
      value = asFloat(value, site.node);
    }
    op->post_args.push_back(value);
  }
  for (PostOp post_op : site.op.spec.post_ops) {
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

// Post operands 0 and 1: what one step of the integer sum is worth per output channel, and the bias.
void QuantizeWriter::addScales(const QuantizedSite& quantized, FusedOp* op, double source_scale) {
  const Site& site = quantized.site;
  at::Tensor weights = constantTensor(site.op.src[1].value)->detach().to(at::kFloat);
  if (!quantized.smoothing.empty()) weights = weights * at::tensor(quantized.smoothing, at::kDouble).to(at::kFloat);
  const QuantizedWeights integers = quantizeWeights(weights, weight_bits_);
  at::Tensor bias;
  if (site.op.src.size() > 2 && !site.op.src[2].absent())
    bias = constantTensor(site.op.src[2].value)->detach().to(at::kDouble);
  if (bias_correction_ && quantized.input != nullptr && quantized.smoothing.empty() &&
      !quantized.input->channel_mean.empty()) {
    const at::Tensor shift =
        biasShift(weights, integers, quantized.input->channel_mean, site.op.spec.intOr("groups", 1));
    if (shift.defined()) bias = bias.defined() ? bias + shift : shift;
  }
  setIntegerWeights(rewriter_, {integers.integers, integers.scales, bias}, source_scale, op, site.node);
}

void QuantizeWriter::writeProduct(const QuantizedSite& quantized) {
  const Site& site = quantized.site;
  Value* x = now(site.op.src[0].value);
  FusedOp op;
  op.spec.kind = site.op.spec.kind;
  op.spec.attributes = site.op.spec.attributes;
  const AffineParameters& source = quantized.activations[0];
  x = quantized.smoothing.empty() || isInteger(x) ? asInteger(x, source, site.node)
                                                  : asSmoothed(x, source, quantized.smoothing, site.node);
  if (source.zero_point != 0) op.spec.attributes["src_zero"] = source.zero_point;
  if (site.op.spec.kind == OpKind::kMatmul) {
    Value* other = asInteger(now(site.op.src[1].value), quantized.activations[1], site.node);
    if (quantized.activations[1].zero_point != 0)
      op.spec.attributes["weight_zero"] = quantized.activations[1].zero_point;
    op.base = {x, other};
    op.spec.attributes.erase("scale");
    op.spec.post_ops = {unaryPostOp(
        PostOpKind::kLinear, source.scale * quantized.activations[1].scale * site.op.spec.floatOr("scale", 1), 0)};
  } else {
    op.base = {x, nullptr, nullptr};
    addScales(quantized, &op, source.scale);
  }
  appendChain(quantized, &op);
  replace(quantized, std::move(op), "computes in INT8, accumulates in 32 bits");
}

void QuantizeWriter::writeChain(const QuantizedSite& quantized) {
  const Site& site = quantized.site;
  FusedOp op;
  op.spec.kind = OpKind::kPointwise;
  op.spec.attributes = site.op.spec.attributes;
  Value* x = now(site.op.src[0].value);
  if (quantized.forms.in) {
    x = asInteger(x, quantized.activations[0], site.node);
    appendPostOp(&op.spec.post_ops, toReal(quantized.activations[0]));
  } else {
    x = asFloat(x, site.node);
  }
  op.base = {x};
  appendChain(quantized, &op);
  replace(quantized, std::move(op), "follows its operands in INT8");
}

void QuantizeWriter::writeAttention(const QuantizedSite& quantized) {
  const Site& site = quantized.site;
  FusedOp op;
  op.spec = site.op.spec;
  for (const LoweredOperand& operand : site.op.src) {
    Value* value = operandValue(rewriter_, operand, site.node);
    op.base.push_back(operand.value == nullptr ? value : asFloat(now(value), site.node));
  }
  replace(quantized, std::move(op), "writes INT8 for the products behind it");
}

// The node stays; what it reads and gives are integers, or for means numbers in their unit.
void QuantizeWriter::writeMove(const QuantizedSite& quantized) {
  const Site& site = quantized.site;
  Node* node = site.node;
  const auto convert = [&](Node* holder, std::size_t index) {
    Value* value = holder->input(index);
    for (std::size_t a = 0; a < site.activations.size(); ++a) {
      if (now(site.activations[a]) != value) continue;
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
