// Operations on PyTorch's quantized tensors become operations on plain integers, with the model's own scales.
//   before  %q = quantize_per_tensor(%x, 0.1, 3, quint8)   %y = quantized::conv2d_relu(%q, packed, 0.2, 5)
//           %p = max_pool2d(%y, …)   %z = dequantize(%p)
//   after   %q = pointwise(%x, |linear(10,3), result=u8)
//           %y = convolution(%q, W8, None, [scales, b], src_zero=3, |mul(0)|add(1)|relu|linear(5,5), result=u8)
//           %p = max_pool2d(%y, …)   %z = pointwise(%p, |linear(0.2,-1))
// A quantized tensor carries its scale with it, ours has it in the chains of what writes and reads it: it is followed from
// the operation that sets it. What is not known here keeps quantized tensors, made from the integers again. Layers that
// round their input while they run (linear_dynamic) do so per row here, not per tensor: finer, never coarser.
// Declines: operand-not-constant (packed weights, scales), unsupported-attribute, unsupported-operator, unsupported-dtype.
// Runs after all fusions, which know FP32 only. Numerics: the same integers within one step; sums are scaled in FP32.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "core/graph/lowering.h"
#include "passes/integer_values.h"
#include "passes/packed_parameters.h"
#include "passes/pass_list.h"
#include "passes/quantize_chain.h"
#include "passes/quantized_activation.h"

namespace ipex_studio {
namespace {

using torch::jit::Node;
using torch::jit::Value;

bool isQuantized(const Value* value) {
  const auto dtype = knownDtype(value);
  return dtype && (*dtype == at::kQUInt8 || *dtype == at::kQInt8 || *dtype == at::kQInt32);
}

Decline notConstant(const char* what) { return {reasons::kNotConstant, fmt::format("Its {} is computed while the model runs.", what)}; }

class QuantizedReader {
 public:
  QuantizedReader(torch::jit::Graph& graph, PassContext& context) : graph_(graph), context_(context), rewriter_(context.rewriter) {}

  bool run() {
    const std::vector<Node*> nodes(graph_.nodes().begin(), graph_.nodes().end());
    for (Node* node : nodes) read(node);
    integers_.returnToQuantized(rewriter_);
    return changed_;
  }

  // What makes quantized tensors; the other operations of the table take them as well.
  static std::vector<const char*> makers() {
    std::vector<const char*> kinds = {"aten::quantize_per_tensor", "aten::dequantize"};
    for (const auto& [kind, reader] : table()) {
      if (kind.rfind("quantized::", 0) == 0) kinds.push_back(kind.c_str());
    }
    return kinds;
  }

 private:
  using Reader = Decline (QuantizedReader::*)(Node*);

  static const std::unordered_map<std::string, Reader>& table() {
    using Q = QuantizedReader;
    static const std::unordered_map<std::string, Reader> readers = {
        {"aten::quantize_per_tensor", &Q::quantize},
        {"aten::dequantize", &Q::dequantize},
        {"quantized::conv2d", &Q::convolution},
        {"quantized::conv2d_relu", &Q::convolution},
        {"quantized::linear", &Q::linear},
        {"quantized::linear_relu", &Q::linear},
        {"quantized::linear_dynamic", &Q::linearDynamic},
        {"quantized::linear_relu_dynamic", &Q::linearDynamic},
        {"quantized::add", &Q::add},
        {"quantized::add_relu", &Q::add},
        {"quantized::mul", &Q::multiply},
        {"quantized::mul_relu", &Q::multiply},
        {"quantized::cat", &Q::concatenate},
        {"quantized::cat_relu", &Q::concatenate},
        {"quantized::hardswish", &Q::activation},
        {"quantized::sigmoid", &Q::activation},
        {"quantized::leaky_relu", &Q::activation},
        {"aten::sigmoid", &Q::activation},
        {"aten::hardsigmoid", &Q::activation},
        {"aten::tanh", &Q::activation},
        {"aten::relu", &Q::activation},
        {"aten::relu6", &Q::activation},
        {"quantized::relu6", &Q::activation},
        {"aten::hardtanh", &Q::activation},
        {"aten::clamp", &Q::activation},
        {"aten::max_pool2d", &Q::move},
        {"aten::avg_pool2d", &Q::average},
        {"aten::adaptive_avg_pool2d", &Q::average},
        {"aten::mean", &Q::average},
        {"aten::upsample_nearest2d", &Q::move},
        {"aten::flatten", &Q::move},
        {"aten::view", &Q::move},
        {"aten::reshape", &Q::move},
        {"aten::permute", &Q::move},
        {"aten::transpose", &Q::move},
        {"aten::unsqueeze", &Q::move},
        {"aten::squeeze", &Q::move},
        {"aten::slice", &Q::move},
        {"aten::select", &Q::move},
        {"aten::contiguous", &Q::move},
        {"aten::size", &Q::measure},
        {"aten::chunk", &Q::divide},
        {"aten::split", &Q::divide},
    };
    return readers;
  }

  void read(Node* node) {
    const bool reads = integers_.readBy(node) || std::any_of(node->inputs().begin(), node->inputs().end(), [](const Value* input) { return isQuantized(input); });
    if (!reads && !beginsIntegers(node)) return;
    const auto found = table().find(node->kind().toQualString());
    if (found == table().end() || node->outputs().size() != 1) {
      if (!isCarrier(node)) context_.missed(node, reasons::kUnsupportedOperator, fmt::format("{} keeps PyTorch's quantized tensors.", node->kind().toQualString()));
      return;
    }
    const bool written = context_.mayBeWritten(node->output());
    const Decline why = written ? Decline{reasons::kAliased, "Its result may be written to."} : (this->*found->second)(node);
    if (why) context_.missed(node, why);
  }

  static bool beginsIntegers(const Node* node) {
    static const std::unordered_set<std::string> kinds = {"aten::quantize_per_tensor", "quantized::linear_dynamic", "quantized::linear_relu_dynamic",
                                                          "quantized::cat", "quantized::cat_relu"};
    return kinds.count(node->kind().toQualString()) != 0;
  }

  static bool isCarrier(const Node* node) { return node->kind() == c10::prim::ListConstruct || node->kind() == c10::prim::Return; }

  const AffineParameters* affineOf(const Value* value) const { return integers_.affineOf(value); }

  // --- writing ---------------------------------------------------------------------------------------------------------

  void finish(Node* node, Value* result, const std::optional<AffineParameters>& affine, const char* text) {
    if (affine) integers_.add(result, *affine);
    integers_.addReader(result->node());
    rewriter_.replace({node}, node->output(), result, text);
    changed_ = true;
  }

  Value* typed(Node* made, const Node* like, at::ScalarType dtype) {
    made->output()->setType(like->output()->type());
    setDtype(made->output(), dtype);
    return made->output();
  }

  // `post_ops` of real values, and their rounding.
  Decline chain(Node* node, Value* x, std::vector<PostOp> post_ops, const std::vector<Value*>& operands, const AffineParameters& result) {
    appendPostOp(&post_ops, toInteger(result));
    return wholeChain(node, x, std::move(post_ops), operands, result);
  }

  Decline wholeChain(Node* node, Value* x, std::vector<PostOp> post_ops, const std::vector<Value*>& operands, const AffineParameters& result) {
    Value* made = writePointwise(rewriter_, x, std::move(post_ops), operands, at::kByte, node);
    made->setType(node->output()->type());
    setDtype(made, at::kByte);
    finish(node, made, result, "computes on integers");
    return {};
  }

  // --- reading ---------------------------------------------------------------------------------------------------------

  Decline quantize(Node* node) {
    const auto dtype = constantInt(node->input(3));
    if (knownDtype(node->input(0)) != at::kFloat || dtype != static_cast<std::int64_t>(at::kQUInt8)) {
      return {reasons::kUnsupportedDtype, "Only FP32 becomes plain integers, and only unsigned ones of 8 bits."};
    }
    const auto affine = constantQuantization(node->input(1), node->input(2));
    if (!affine) return notConstant("scale");
    if (!rewriter_.permit()) return {};
    return chain(node, node->input(0), {}, {}, *affine);
  }

  Decline dequantize(Node* node) {
    if (const auto constant = constantTensor(node->input(0))) {
      if (!rewriter_.permit()) return {};
      finish(node, rewriter_.constant(constant->dequantize(), node), std::nullopt, "computed dequantize");
      return {};
    }
    const AffineParameters* affine = affineOf(node->input(0));
    if (affine == nullptr) return notConstant("scale");
    if (!rewriter_.permit()) return {};
    Value* made = writePointwise(rewriter_, node->input(0), {toReal(*affine)}, {}, at::kFloat, node);
    made->setType(node->output()->type());
    finish(node, made, std::nullopt, "returns to FP32");
    return {};
  }

  Decline product(Node* node, FusedOp op, const PackedParameters& packed) {
    const AffineParameters* source = affineOf(node->input(0));
    if (source == nullptr) return notConstant("operand's scale");
    const auto result = constantQuantization(node->input(2), node->input(3));
    if (!result) return notConstant("scale");
    if (!rewriter_.permit()) return {};
    if (source->zero_point != 0) op.spec.attributes["src_zero"] = source->zero_point;
    op.base = {node->input(0), nullptr, nullptr};
    setIntegerWeights(rewriter_, {packed.integers, packed.scales, packed.bias}, source->scale, &op, node);
    if (isWithRelu(node)) op.spec.post_ops.push_back(unaryPostOp(PostOpKind::kRelu));
    appendPostOp(&op.spec.post_ops, toInteger(*result));
    op.spec.attributes["result"] = std::string("u8");
    finish(node, typed(writeFusedOp(rewriter_, op, node), node, at::kByte), *result, "computes on integers");
    return {};
  }

  static bool isWithRelu(const Node* node) { return std::string(node->kind().toUnqualString()).find("_relu") != std::string::npos; }

  Decline convolution(Node* node) {
    std::string why;
    const auto packed = node->inputs().size() == 4 ? unpackConvolution2d(node->input(1), &why) : std::nullopt;
    if (!packed) return {reasons::kUnsupportedAttribute, why.empty() ? "It has the form of an old version." : why};
    FusedOp op;
    op.spec.kind = OpKind::kConvolution;
    op.spec.attributes = {{"stride", packed->stride}, {"padding", packed->padding}, {"dilation", packed->dilation}, {"groups", packed->groups}};
    return product(node, std::move(op), *packed);
  }

  Decline linear(Node* node) {
    std::string why;
    const auto packed = unpackLinear(node->input(1), &why);
    if (!packed) return {reasons::kUnsupportedAttribute, why};
    FusedOp op;
    op.spec.kind = OpKind::kLinear;
    return product(node, std::move(op), *packed);
  }

  // quantized::linear_dynamic(x, packed, reduce_range)
  Decline linearDynamic(Node* node) {
    if (knownDtype(node->input(0)) != at::kFloat) return {reasons::kUnsupportedDtype, "Its operand is not known to be FP32."};
    std::string why;
    const auto packed = unpackLinear(node->input(1), &why);
    if (!packed) return {reasons::kUnsupportedAttribute, why};
    if (!rewriter_.permit()) return {};
    FusedOp op;
    op.spec.kind = OpKind::kLinear;
    op.spec.attributes["dynamic"] = std::int64_t{1};
    op.base = {node->input(0), nullptr, nullptr};
    setIntegerWeights(rewriter_, {packed->integers, packed->scales, packed->bias}, 1, &op, node);
    if (isWithRelu(node)) op.spec.post_ops.push_back(unaryPostOp(PostOpKind::kRelu));
    finish(node, typed(writeFusedOp(rewriter_, op, node), node, at::kFloat), std::nullopt, "rounds rows of its operand, computes on integers");
    return {};
  }

  Decline binaryOperands(Node* node, const AffineParameters** a, const AffineParameters** b, std::optional<AffineParameters>* result) {
    *a = affineOf(node->input(0));
    *b = node->inputs().size() == 4 ? affineOf(node->input(1)) : nullptr;
    if (*a == nullptr || *b == nullptr) return notConstant("operands' scale");
    *result = constantQuantization(node->input(2), node->input(3));
    return *result ? Decline{} : notConstant("scale");
  }

  // The chain starts at an operand that has the sizes of the result.
  static bool startsAt(const Node* node, std::size_t side) { return knownSizes(node->input(side)) == knownSizes(node->output()); }

  Decline add(Node* node) {
    const AffineParameters *a = nullptr, *b = nullptr;
    std::optional<AffineParameters> result;
    if (const Decline why = binaryOperands(node, &a, &b, &result)) return why;
    const std::size_t first = startsAt(node, 0) ? 0 : 1;
    if (!startsAt(node, first)) return {reasons::kBroadcast, "Both operands are smaller than the result."};
    if (!rewriter_.permit()) return {};
    std::vector<PostOp> post_ops{toReal(first == 0 ? *a : *b)};
    appendSumOfIntegers(&post_ops, binaryPostOp(PostOpKind::kAdd, 0), first == 0 ? *b : *a);
    if (isWithRelu(node)) post_ops.push_back(unaryPostOp(PostOpKind::kRelu));
    return chain(node, node->input(first), std::move(post_ops), {node->input(1 - first)}, *result);
  }

  // Integers whose zero is 0 are factors as they are; others are made real before.
  Decline multiply(Node* node) {
    const AffineParameters *a = nullptr, *b = nullptr;
    std::optional<AffineParameters> result;
    if (const Decline why = binaryOperands(node, &a, &b, &result)) return why;
    const bool turn = !startsAt(node, 0) || (b->zero_point != 0 && a->zero_point == 0 && startsAt(node, 1));
    const std::size_t first = turn ? 1 : 0;
    if (!startsAt(node, first)) return {reasons::kBroadcast, "Both operands are smaller than the result."};
    if (!rewriter_.permit()) return {};
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

  // quantized::cat(Tensor[] x, dim, scale?, zero_point?)
  Decline concatenate(Node* node) {
    Node* list = node->input(0)->node();
    if (list->kind() != c10::prim::ListConstruct || list->output()->uses().size() != 1) return notConstant("list of operands");
    for (const Value* part : list->inputs()) {
      if (affineOf(part) == nullptr) return notConstant("operands' scale");
    }
    const bool own = !isNone(node->input(2)) && !isNone(node->input(3));
    const auto result = own ? constantQuantization(node->input(2), node->input(3)) : std::optional<AffineParameters>(*affineOf(list->input(0)));
    if (!result) return notConstant("scale");
    if (!rewriter_.permit()) return {};
    std::vector<Value*> parts;
    for (Value* part : list->inputs()) parts.push_back(rescaled(part, *result, isWithRelu(node), node));
    Node* own_list = rewriter_.create("prim::ListConstruct", parts, node);
    own_list->output()->setType(c10::ListType::ofTensors());
    finish(node, typed(rewriter_.create("aten::cat", {own_list->output(), node->input(1)}, node), node, at::kByte), *result, "concatenates integers");
    return {};
  }

  Value* rescaled(Value* value, const AffineParameters& wanted, bool relu, Node* before) {
    const AffineParameters& own = *affineOf(value);
    if (!relu && own.scale == wanted.scale && own.zero_point == wanted.zero_point) return value;
    std::vector<PostOp> post_ops{toReal(own)};
    if (relu) post_ops.push_back(unaryPostOp(PostOpKind::kRelu));
    appendPostOp(&post_ops, toInteger(wanted));
    Value* made = writePointwise(rewriter_, value, std::move(post_ops), {}, at::kByte, before);
    integers_.addReader(made->node());
    return made;
  }

  Decline activation(Node* node) {
    const AffineParameters* source = affineOf(node->input(0));
    if (source == nullptr) return notConstant("operand's scale");
    const auto read = readQuantizedActivation(node, *source);
    if (!read) return notConstant("scale or bound");
    if (!rewriter_.permit()) return {};
    return wholeChain(node, node->input(0), read->post_ops, {}, read->result);
  }

  // The operation stays and moves or averages integers; where plans cannot do that it keeps quantized tensors.
  Decline move(Node* node) {
    const AffineParameters* source = affineOf(node->input(0));
    if (source == nullptr) return notConstant("operand's scale");
    const c10::TypePtr type = node->output()->type();
    setDtype(node->output(), at::kByte);
    const auto lowered = lowerNode(node);
    const auto* ops = std::get_if<LoweredNode>(&lowered);
    const bool is_view = ops != nullptr && std::all_of(ops->ops.begin(), ops->ops.end(), [](const LoweredOp& op) { return isView(op.spec.kind); });
    if (ops == nullptr || !(is_view || context_.options.plan_regions)) {
      node->output()->setType(type);
      return {reasons::kUnsupportedAttribute, "It keeps PyTorch's quantized tensors."};
    }
    if (!rewriter_.permit()) {
      node->output()->setType(type);
      return {};
    }
    integers_.add(node->output(), AffineParameters(*source));
    integers_.addReader(node);
    rewriter_.finish(node, "moves integers");
    changed_ = true;
    return {};
  }

  // A mean of integers in their unit, which is rounded behind it: a portable export has floats there, which would keep the rest.
  Decline average(Node* node) {
    const AffineParameters* source = affineOf(node->input(0));
    if (source == nullptr) return notConstant("operand's scale");
    const c10::TypePtr type = node->output()->type();
    setDtype(node->output(), at::kFloat);
    if (!context_.options.plan_regions || !std::holds_alternative<LoweredNode>(lowerNode(node)) || !rewriter_.permit()) {
      node->output()->setType(type);
      return {reasons::kUnsupportedAttribute, "It keeps PyTorch's quantized tensors."};
    }
    const AffineParameters affine = *source;
    Value* rounded = writePointwise(rewriter_, node->output(), {}, {}, at::kByte, node->next());
    rewriter_.replaceUsesAfter(rounded->node(), node->output(), rounded);
    integers_.add(rounded, affine);
    integers_.addReader(node);
    rewriter_.finish(node, "averages integers");
    changed_ = true;
    return {};
  }

  // Integers have the same sizes.
  Decline measure(Node* node) {
    if (affineOf(node->input(0)) != nullptr) integers_.addReader(node);
    return {};
  }

  // A list of parts that is taken apart at once.
  Decline divide(Node* node) {
    const AffineParameters* source = affineOf(node->input(0));
    if (source == nullptr) return notConstant("operand's scale");
    const auto& uses = node->output()->uses();
    if (uses.size() != 1 || uses[0].user->kind() != c10::prim::ListUnpack) return {reasons::kUnsupportedAttribute, "Its list of parts is kept."};
    if (!rewriter_.permit()) return {};
    const AffineParameters affine = *source;
    for (Value* part : uses[0].user->outputs()) {
      setDtype(part, at::kByte);
      integers_.add(part, affine);
    }
    integers_.addReader(node);
    rewriter_.finish(node, "moves integers");
    changed_ = true;
    return {};
  }

  torch::jit::Graph& graph_;
  PassContext& context_;
  Rewriter& rewriter_;
  IntegerValues integers_;
  bool changed_ = false;
};

bool canonicalizeQuantized(torch::jit::Graph& graph, PassContext& context) { return QuantizedReader(graph, context).run(); }

}  // namespace

const Pass kCanonicalizeQuantized = {"canonicalize-quantized", "Turns operations on quantized tensors into operations on plain integers.", &canonicalizeQuantized,
                                      QuantizedReader::makers()};

}  // namespace ipex_studio
