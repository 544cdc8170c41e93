// Operations between integers read and write them themselves.
//   before  %x = pointwise(%q, |linear(0.1,-0.3))   %y = convolution(%x, W, b, |relu)
//           %r = pointwise(%y, |linear(5,2), result=u8)
//   after   %r = convolution(%q, W8, None, [scales, b], src_zero=3, |mul(0)|add(1)|relu|linear(5,2), result=u8)
// Products need weights that are multiples of a step (W8), as those of models that were trained or rounded so are.
// Views, max pools and concatenations of one scale move integers; chains and sums read them with their scale as a
// factor.
// Declines: weights-not-constant, not-profitable (weights that nobody rounded: the product stays as exact as it is).
// Runs after canonicalize-quantized and canonicalize-fake-quantize. Numerics: sums of products become exact.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/quantization/quantizable_ops.h"
#include "core/quantization/weights.h"
#include "passes/pass_list.h"
#include "passes/quantize/quantize_forms.h"
#include "passes/quantize/requantization.h"

namespace ipex_studio {
namespace {

using torch::jit::Node;
using torch::jit::Value;

// A real value that is nothing but these integers.
struct Dequantized {
  Value* integers = nullptr;
  AffineParameters affine;
};

std::optional<Dequantized> dequantized(Value* value) {
  const auto op = readFusedOp(value->node());
  if (!op || op->spec.kind != OpKind::kPointwise || op->spec.has("result") || op->spec.post_ops.size() != 1)
    return std::nullopt;
  const PostOp& post_op = op->spec.post_ops[0];
  if (post_op.kind != PostOpKind::kLinear || !(post_op.alpha > 0) || knownDtype(op->base[0]) != at::kByte)
    return std::nullopt;
  const double zero = -post_op.beta / post_op.alpha, nearest = std::nearbyint(zero);
  if (std::fabs(zero - nearest) > 1e-6 || nearest < 0 || nearest > 255) return std::nullopt;
  return Dequantized{op->base[0], {post_op.alpha, static_cast<std::int64_t>(nearest)}};
}

// The conversion to integers that alone reads the value.
std::optional<FusedOp> soleQuantizer(const Value* value) {
  if (value->uses().size() != 1) return std::nullopt;
  Node* user = value->uses()[0].user;
  auto op = readFusedOp(user);
  const bool quantizes = op && op->spec.kind == OpKind::kPointwise && op->spec.stringOr("result", "") == "u8" &&
                         op->post_args.empty() && op->base[0] == value;
  if (!quantizes) return std::nullopt;
  return op;
}

class DequantizeFuser {
 public:
  DequantizeFuser(torch::jit::Graph& graph, PassContext& context)
      : graph_(graph), context_(context), rewriter_(context.rewriter) {}

  bool run() {
    const std::vector<Node*> nodes(graph_.nodes().begin(), graph_.nodes().end());
    for (Node* node : nodes) {
      if (!rewriter_.alive(node) || node->outputs().size() != 1) continue;
      requantize(node);
      const auto quantizable = rewriter_.alive(node) ? quantizableOpOf(node) : std::nullopt;
      if (!quantizable || !readsIntegers(*quantizable) || context_.mayBeWritten(node->output())) continue;
      if (quantizable->role == QuantizableRole::kMoves) move(*quantizable);
      if (quantizable->role == QuantizableRole::kPointwise && !dequantized(node->output())) fuseChain(*quantizable);
      if (quantizable->role == QuantizableRole::kProduct && quantizable->op.spec.kind != OpKind::kMatmul)
        fuseProduct(*quantizable);
    }
    return changed_;
  }

 private:
  static bool readsIntegers(const QuantizableOp& quantizable) {
    return std::any_of(quantizable.activations.begin(), quantizable.activations.end(),
                       [](Value* value) { return dequantized(value).has_value(); });
  }

  // From one scale to another, without the real values between.
  void requantize(Node* node) {
    const auto op = readFusedOp(node);
    if (!op || op->spec.kind != OpKind::kPointwise || op->spec.stringOr("result", "") != "u8" || !op->post_args.empty())
      return;
    const auto source = dequantized(op->base[0]);
    if (!source || !rewriter_.permit(node)) return;
    std::vector<PostOp> chain{toReal(source->affine)};
    for (const PostOp& post_op : op->spec.post_ops) appendPostOp(&chain, post_op);
    const bool same = chain.size() == 1 && std::fabs(chain[0].alpha - 1) < 1e-9 && std::fabs(chain[0].beta) < 1e-6;
    Value* result =
        same ? source->integers : writePointwise(rewriter_, source->integers, std::move(chain), {}, at::kByte, node);
    rewriter_.replace({node}, node->output(), result, "stays integers");
    changed_ = true;
  }

  void fuseProduct(const QuantizableOp& quantizable) {
    const auto source = dequantized(quantizable.activations[0]);
    if (!source || quantizable.positions[0] != 0) return;
    at::Tensor bias;
    if (quantizable.op.src.size() > 2 && !quantizable.op.src[2].absent()) {
      const auto constant =
          quantizable.op.src[2].value != nullptr ? constantTensor(quantizable.op.src[2].value) : std::nullopt;
      if (!constant)
        return context_.missed(quantizable.node, reasons::kWeightsNotConstant,
                               "Its bias is computed while the model runs.");
      bias = *constant;
    }
    const auto weights = weightsOnGrid(*constantTensor(quantizable.op.src[1].value));
    if (!weights)
      return context_.missed(quantizable.node, reasons::kNotProfitable,
                             "Its weights were not rounded; the model does not compute it in INT8.");
    if (!rewriter_.permit(quantizable.node)) return;
    FusedOp op;
    op.spec.kind = quantizable.op.spec.kind;
    op.spec.attributes = quantizable.op.spec.attributes;
    if (source->affine.zero_point != 0) op.spec.attributes["src_zero"] = source->affine.zero_point;
    op.base = {source->integers, nullptr, nullptr};
    setIntegerWeights(rewriter_, {weights->integers, weights->scales, bias}, source->affine.scale, &op,
                      quantizable.node);
    appendChain(quantizable, &op);
    finish(quantizable.node, std::move(op), "computes on integers, accumulates in 32 bits");
  }

  void fuseChain(const QuantizableOp& quantizable) {
    if (quantizable.op.src.empty() || quantizable.op.src[0].value == nullptr || quantizable.op.spec.has("result"))
      return;
    const auto source = dequantized(quantizable.op.src[0].value);
    const bool sums =
        std::any_of(quantizable.activations.begin() + static_cast<std::ptrdiff_t>(quantizable.base_count),
                    quantizable.activations.end(), [](Value* value) { return dequantized(value).has_value(); });
    if ((!source && !sums) || !rewriter_.permit(quantizable.node)) return;
    FusedOp op;
    op.spec.kind = OpKind::kPointwise;
    op.base = {source ? source->integers : quantizable.op.src[0].value};
    if (source) op.spec.post_ops.push_back(toReal(source->affine));
    appendChain(quantizable, &op);
    finish(quantizable.node, std::move(op), "reads integers");
  }

  // The operation's own post-operations behind what `op` has already; sums read integers.
  void appendChain(const QuantizableOp& quantizable, FusedOp* op) {
    const auto base = static_cast<std::size_t>(baseSourceCount(quantizable.op.spec.kind));
    const auto shift = static_cast<std::int32_t>(op->post_args.size());
    std::vector<std::optional<AffineParameters>> integer(quantizable.op.src.size());
    for (std::size_t s = base; s < quantizable.op.src.size(); ++s) {
      Value* value = operandValue(rewriter_, quantizable.op.src[s], quantizable.node);
      const auto found = dequantized(value);
      const auto activation = std::find(quantizable.positions.begin(), quantizable.positions.end(), s);
      if (found && activation != quantizable.positions.end() &&
          quantizable.takesIntegers(static_cast<std::size_t>(activation - quantizable.positions.begin()))) {
        integer[s] = found->affine;
        value = found->integers;
      }
      op->post_args.push_back(value);
    }
    for (PostOp post_op : quantizable.op.spec.post_ops) {
      const auto affine =
          isBinary(post_op.kind) ? integer[base + static_cast<std::size_t>(post_op.operand)] : std::nullopt;
      if (isBinary(post_op.kind)) post_op.operand += shift;
      if (affine) {
        appendSumOfIntegers(&op->spec.post_ops, post_op, *affine);
      } else {
        appendPostOp(&op->spec.post_ops, post_op);
      }
    }
  }

  // With the conversion to integers behind it, where nothing else reads the result.
  void finish(Node* node, FusedOp op, const char* text) {
    const auto quantizer = soleQuantizer(node->output());
    Node* last = node;
    if (quantizer) {
      for (const PostOp& post_op : quantizer->spec.post_ops) appendPostOp(&op.spec.post_ops, post_op);
      op.spec.attributes["result"] = std::string("u8");
      last = node->output()->uses()[0].user;
    }
    Value* result = writeFusedOp(rewriter_, op, node)->output();
    result->setType(node->output()->type());
    setDtype(result, quantizer ? at::kByte : at::kFloat);
    if (quantizer) {
      rewriter_.replace({node, last}, last->output(), result, text);
    } else {
      rewriter_.replace({node}, node->output(), result, text);
    }
    changed_ = true;
  }

  // The node stays; its operands and results become integers.
  void move(const QuantizableOp& quantizable) {
    const auto first = dequantized(quantizable.activations[0]);
    const auto fits = [&](Value* value) {
      const auto own = dequantized(value);
      return own && own->affine.scale == first->affine.scale && own->affine.zero_point == first->affine.zero_point;
    };
    if (!first || !std::all_of(quantizable.activations.begin(), quantizable.activations.end(), fits)) return;
    if (!(quantizable.is_view || context_.options.plan_regions) || !rewriter_.permit(quantizable.node)) return;
    Node* node = quantizable.node;
    for (std::size_t i = 0; i < node->inputs().size(); ++i) {
      Node* list = node->input(i)->node();
      if (list->kind() == c10::prim::ListConstruct &&
          list->output()->type()->isSubtypeOf(*c10::ListType::ofTensors())) {
        for (std::size_t e = 0; e < list->inputs().size(); ++e) readDirectly(list, e);
      } else {
        readDirectly(node, i);
      }
    }
    Value* result = node->output();
    setDtype(result, at::kByte);
    Value* real = writePointwise(rewriter_, result, {toReal(first->affine)}, {}, at::kFloat, node->next());
    rewriter_.replaceUsesAfter(real->node(), result, real);
    rewriter_.finish(node, "moves integers");
    changed_ = true;
  }

  void readDirectly(Node* holder, std::size_t index) {
    if (holder->input(index)->type()->kind() != c10::TypeKind::TensorType) return;
    if (const auto own = dequantized(holder->input(index))) rewriter_.replaceInput(holder, index, own->integers);
  }

  torch::jit::Graph& graph_;
  PassContext& context_;
  Rewriter& rewriter_;
  bool changed_ = false;
};

bool fuseDequantize(torch::jit::Graph& graph, PassContext& context) { return DequantizeFuser(graph, context).run(); }

}  // namespace

const Pass kFuseDequantize = {"fuse-dequantize",
                              "Lets operations between integers read and write them.",
                              &fuseDequantize,
                              {"ipex_studio::pointwise"}};

}  // namespace ipex_studio
