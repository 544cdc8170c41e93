// Operations on PyTorch's quantized tensors become operations on plain integers, with the model's own scales.
//   before  %q = quantize_per_tensor(%x, 0.1, 3, quint8)   %y = quantized::conv2d_relu(%q, packed, 0.2, 5)
//           %p = max_pool2d(%y, …)   %z = dequantize(%p)
//   after   %q = pointwise(%x, |linear(10,3), result=u8)
//           %y = convolution(%q, W8, None, [scales, b], src_zero=3, |mul(0)|add(1)|relu|linear(5,5), result=u8)
//           %p = max_pool2d(%y, …)   %z = pointwise(%p, |linear(0.2,-1))
// A quantized tensor carries its scale with it, ours has it in the chains of what writes and reads it: it is followed
// from the operation that sets it. What is not known here keeps quantized tensors, made from the integers again. Layers
// that round their input while they run (linear_dynamic) do so per row here, not per tensor: finer, never coarser.
// Declines: operand-not-constant (packed weights, scales), unsupported-attribute, unsupported-operator,
// unsupported-dtype. Runs after all fusions, which know FP32 only. Numerics: the same integers within one step; sums
// are scaled in FP32.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "core/lower/lowering.h"
#include "passes/quantize/quantized_activation.h"
#include "passes/quantize/quantized_reader.h"
#include "passes/quantize/requantization.h"

namespace ipex_studio {

using torch::jit::Node;
using torch::jit::Value;

namespace {

bool isQuantized(const Value* value) {
  const auto dtype = knownDtype(value);
  return dtype && (*dtype == at::kQUInt8 || *dtype == at::kQInt8 || *dtype == at::kQInt32);
}

bool beginsIntegers(const Node* node) {
  static const std::unordered_set<std::string> kinds = {"aten::quantize_per_tensor", "quantized::linear_dynamic",
                                                        "quantized::linear_relu_dynamic", "quantized::cat",
                                                        "quantized::cat_relu"};
  return kinds.count(node->kind().toQualString()) != 0;
}

bool isCarrier(const Node* node) {
  return node->kind() == c10::prim::ListConstruct || node->kind() == c10::prim::Return;
}

}  // namespace

bool QuantizedReader::run() {
  const std::vector<Node*> nodes(graph_.nodes().begin(), graph_.nodes().end());
  for (Node* node : nodes) read(node);
  integers_.returnToQuantized(rewriter_);
  return changed_;
}

std::vector<const char*> QuantizedReader::makers() {
  std::vector<const char*> kinds = {"aten::quantize_per_tensor", "aten::dequantize"};
  for (const auto& [kind, reader] : table()) {
    if (kind.rfind("quantized::", 0) == 0) kinds.push_back(kind.c_str());
  }
  return kinds;
}

const std::unordered_map<std::string, QuantizedReader::Reader>& QuantizedReader::table() {
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

void QuantizedReader::read(Node* node) {
  const bool reads = integers_.readBy(node) || std::any_of(node->inputs().begin(), node->inputs().end(),
                                                           [](const Value* input) { return isQuantized(input); });
  if (!reads && !beginsIntegers(node)) return;
  const auto found = table().find(node->kind().toQualString());
  if (found == table().end() || node->outputs().size() != 1) {
    if (!isCarrier(node))
      context_.missed(node, reasons::kUnsupportedOperator,
                      fmt::format("{} keeps PyTorch's quantized tensors.", node->kind().toQualString()));
    return;
  }
  const bool written = context_.mayBeWritten(node->output());
  const Decline why =
      written ? Decline{reasons::kAliased, "Its result may be written to."} : (this->*found->second)(node);
  if (why) context_.missed(node, why);
}

Decline QuantizedReader::concatenate(Node* node) {
  Node* list = node->input(0)->node();
  if (list->kind() != c10::prim::ListConstruct || list->output()->uses().size() != 1)
    return notConstantInModel("list of operands");
  for (const Value* part : list->inputs()) {
    if (affineOf(part) == nullptr) return notConstantInModel("operands' scale");
  }
  const bool own = !isNone(node->input(2)) && !isNone(node->input(3));
  const auto result = own ? constantQuantization(node->input(2), node->input(3))
                          : std::optional<AffineParameters>(*affineOf(list->input(0)));
  if (!result) return notConstantInModel("scale");
  if (!rewriter_.permit(node)) return {};
  std::vector<Value*> parts;
  for (Value* part : list->inputs()) parts.push_back(rescaled(part, *result, isWithRelu(node), node));
  Node* own_list = rewriter_.create("prim::ListConstruct", parts, node);
  own_list->output()->setType(c10::ListType::ofTensors());
  finish(node, typed(rewriter_.create("aten::cat", {own_list->output(), node->input(1)}, node), node, at::kByte),
         *result, "concatenates integers");
  return {};
}

Value* QuantizedReader::rescaled(Value* value, const AffineParameters& wanted, bool relu, Node* before) {
  const AffineParameters& own = *affineOf(value);
  if (!relu && own.scale == wanted.scale && own.zero_point == wanted.zero_point) return value;
  std::vector<PostOp> post_ops{toReal(own)};
  if (relu) post_ops.push_back(unaryPostOp(PostOpKind::kRelu));
  appendPostOp(&post_ops, toInteger(wanted));
  Value* made = writePointwise(rewriter_, value, std::move(post_ops), {}, at::kByte, before);
  integers_.addReader(made->node());
  return made;
}

Decline QuantizedReader::move(Node* node) {
  const AffineParameters* source = affineOf(node->input(0));
  if (source == nullptr) return notConstantInModel("operand's scale");
  const c10::TypePtr type = node->output()->type();
  setDtype(node->output(), at::kByte);
  const auto lowered = lowerNode(node);
  const auto* ops = std::get_if<LoweredNode>(&lowered);
  const bool is_view = ops != nullptr && std::all_of(ops->ops.begin(), ops->ops.end(),
                                                     [](const LoweredOp& op) { return isView(op.spec.kind); });
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

Decline QuantizedReader::average(Node* node) {
  const AffineParameters* source = affineOf(node->input(0));
  if (source == nullptr) return notConstantInModel("operand's scale");
  const c10::TypePtr type = node->output()->type();
  setDtype(node->output(), at::kFloat);
  if (!context_.options.plan_regions || !std::holds_alternative<LoweredNode>(lowerNode(node)) ||
      !rewriter_.permit(node)) {
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

Decline QuantizedReader::measure(Node* node) {
  if (affineOf(node->input(0)) != nullptr) integers_.addReader(node);
  return {};
}

Decline QuantizedReader::divide(Node* node) {
  const AffineParameters* source = affineOf(node->input(0));
  if (source == nullptr) return notConstantInModel("operand's scale");
  const auto& uses = node->output()->uses();
  if (uses.size() != 1 || uses[0].user->kind() != c10::prim::ListUnpack)
    return {reasons::kUnsupportedAttribute, "Its list of parts is kept."};
  if (!rewriter_.permit(node)) return {};
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

namespace {

bool canonicalizeQuantized(torch::jit::Graph& graph, PassContext& context) {
  return QuantizedReader(graph, context).run();
}

}  // namespace

const Pass kCanonicalizeQuantized = {"canonicalize-quantized",
                                     "Turns operations on quantized tensors into operations on plain integers.",
                                     &canonicalizeQuantized, QuantizedReader::makers()};

}  // namespace ipex_studio
