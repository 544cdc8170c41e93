#include "passes/precision/attention_precision.h"

#include <algorithm>
#include <vector>

#include "core/graph/node_facts.h"
#include "core/quantization/quantizable_ops.h"
#include "passes/match/node_writer.h"
#include "passes/quantize/quantize_forms.h"
#include "passes/quantize/requantization.h"

namespace ipex_studio {

using torch::jit::Node;
using torch::jit::Value;

namespace {

constexpr std::size_t kQueriesKeysValues = 3;

bool isIntegers(const Value* value) {
  const auto dtype = knownDtype(value);
  return dtype == at::kByte || dtype == at::kChar;
}

bool movesOnly(Node* node) {
  const auto lowered = lowerNode(node);
  const auto* ops = std::get_if<LoweredNode>(&lowered);
  return ops != nullptr &&
         std::all_of(ops->ops.begin(), ops->ops.end(), [](const LoweredOp& op) { return isView(op.spec.kind); });
}

bool comesFromIntegers(Value* value) {
  Node* node = value->node();
  if (Node* pieces = piecesUnpackedBy(node)) return comesFromIntegers(pieces->input(0));
  if (isProductOfIntegers(node)) return true;
  const auto quantizable = quantizableOpOf(node);
  const bool passes_on =
      quantizable && (quantizable->role == QuantizableRole::kMoves || quantizable->role == QuantizableRole::kPointwise);
  return passes_on && std::any_of(quantizable->activations.begin(), quantizable->activations.end(), comesFromIntegers);
}

// A boolean mask as ones and zeros; others as they are.
Value* maskOperand(Rewriter& rewriter, Node* node, const LoweredNode& attention) {
  const LoweredOperand& mask = attention.ops.front().src[attention.ops.size() == 1 ? 3 : 0];
  if (attention.ops.size() == 1) return operandValue(rewriter, mask, node);
  NodeWriter write(rewriter, node, at::kFloat);
  Value* no = write.no();
  return write.make("aten::to", {mask.value, write.number(static_cast<std::int64_t>(at::kFloat)), no, no, write.none()},
                    *knownSizes(mask.value));
}

}  // namespace

std::optional<LoweredNode> readAttention(Node* node) {
  if (node->outputs().size() != 1) return std::nullopt;
  auto lowered = lowerNode(node);
  auto* ops = std::get_if<LoweredNode>(&lowered);
  if (ops == nullptr || ops->ops.empty() || ops->ops.back().spec.kind != OpKind::kAttention) return std::nullopt;
  const LoweredOp& attention = ops->ops.back();
  if (attention.spec.has("products")) return std::nullopt;
  for (std::size_t s = 0; s < kQueriesKeysValues; ++s) {
    if (attention.src[s].value == nullptr || !isFloat(attention.src[s].value)) return std::nullopt;
  }
  const LoweredOperand& mask = attention.src[3];
  if (ops->ops.size() == 1)
    return mask.value == nullptr || isFloat(mask.value) ? std::optional<LoweredNode>(*ops) : std::nullopt;
  const bool casts_mask = ops->ops.size() == 2 && ops->ops[0].spec.kind == OpKind::kCast &&
                          ops->ops[0].src[0].value != nullptr && knownSizes(ops->ops[0].src[0].value).has_value();
  return casts_mask ? std::optional<LoweredNode>(*ops) : std::nullopt;
}

bool isProductOfIntegers(Node* node) {
  const auto op = node->outputs().size() == 1 ? readFusedOp(node) : std::nullopt;
  if (!op || !isFloat(node->output()) || op->spec.has("result")) return false;
  const bool product =
      op->spec.kind == OpKind::kConvolution || op->spec.kind == OpKind::kLinear || op->spec.kind == OpKind::kMatmul;
  return product && isIntegers(op->base[0]);
}

Node* piecesUnpackedBy(Node* unpack) {
  if (unpack->kind() != c10::prim::ListUnpack || !std::holds_alternative<LoweredNode>(lowerNode(unpack)))
    return nullptr;
  return unpack->input()->uses().size() == 1 ? unpack->input()->node() : nullptr;
}

bool asksForSizes(const Node* node) { return isKind(node, "aten::size") || isKind(node, "aten::dim"); }

bool isMask(const torch::jit::Use& use) {
  const bool attends =
      isKind(use.user, "ipex_studio::attention") || isKind(use.user, "aten::scaled_dot_product_attention");
  return attends && use.offset == kQueriesKeysValues;
}

bool attendsToIntegerProducts(const LoweredNode& attention) {
  const auto& src = attention.ops.back().src;
  return std::any_of(src.begin(), src.begin() + kQueriesKeysValues,
                     [&](const LoweredOperand& operand) { return comesFromIntegers(operand.value); });
}

bool readByAttentionOnly(Value* value, const std::unordered_set<const Node*>& attentions) {
  return value->hasUses() && std::all_of(value->uses().begin(), value->uses().end(), [&](const torch::jit::Use& use) {
           if (asksForSizes(use.user)) return true;
           if (attentions.count(use.user) != 0) return use.offset < kQueriesKeysValues;
           Node* reader = use.user;
           const bool listed = reader->outputs().size() == 1 && reader->output()->uses().size() == 1 &&
                               piecesUnpackedBy(reader->output()->uses()[0].user) == reader;
           if (listed) reader = reader->output()->uses()[0].user;
           if (!listed && (reader->outputs().size() != 1 || !movesOnly(reader))) return false;
           return std::all_of(reader->outputs().begin(), reader->outputs().end(),
                              [&](Value* moved) { return readByAttentionOnly(moved, attentions); });
         });
}

Node* writeBf16Attention(Rewriter& rewriter, Node* node, const LoweredNode& attention) {
  FusedOp op;
  op.spec = attention.ops.back().spec;
  op.spec.attributes["products"] = std::string("bf16");
  for (std::size_t s = 0; s < kQueriesKeysValues; ++s) op.base.push_back(node->input(s));
  op.base.push_back(maskOperand(rewriter, node, attention));
  const bool follows = knownDtype(op.base[0]) == at::kBFloat16;
  if (!op.spec.has("result") && !follows) op.spec.attributes["result"] = std::string("bf16");
  Node* made = writeFusedOp(rewriter, op, node);
  made->output()->setType(node->output()->type());
  if (!isIntegers(node->output())) setDtype(made->output(), at::kBFloat16);
  return made;
}

}  // namespace ipex_studio
