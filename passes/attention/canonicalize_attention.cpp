// Writes the fast paths of PyTorch's attention modules as what they compute, which other passes and plans know.
//   before  %y, %w = aten::_native_multi_head_attention(%x, %x, %x, 64, 4, %W, %b, %V, %c, None, False, True, None)
//   after   %qkv = linear(%x, %W, %b)   …   %p = softmax(div(matmul(%q, transpose(%k, -2, -1)), 4.0), -1, None)
//           %y = linear(view(permute(matmul(%p, %v), [0, 2, 1, 3]), …), %V, %c)
//   before  %y = aten::_transformer_encoder_layer_fwd(%x, …)
//   after   the same, with the sums, normalizations and products around it
// Masks fill scores with -inf, and the weights are given where they are read. A mask of numbers, as PyTorch 2.x makes
// of every mask, hides where it is not 0. Tracing or scripting nn.MultiheadAttention or nn.TransformerEncoderLayer for
// inference leaves these operators.
// Declines: unsupported-attribute (other masks, several sources), unknown-shape, unsupported-dtype, not-constant,
// value-may-be-aliased-or-written. Runs after fold-constants, which takes the branches to these operators, and before
// all that looks for products. Numerics: the factor is applied behind the product.
#include "core/graph/node_facts.h"
#include "core/graph/rewrite_matches.h"
#include "passes/attention/attention_writer.h"
#include "passes/match/nested_values.h"
#include "passes/pass_list.h"

namespace ipex_studio {

using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;
using Ints = std::vector<std::int64_t>;

namespace {

bool isNative(const Node* node) { return isKind(node, "aten::_native_multi_head_attention"); }
bool isLayer(const Node* node) { return isKind(node, "aten::_transformer_encoder_layer_fwd"); }

// Reads the optional mask of the operator. Of the mask types those of paddings and of single scores have one meaning in
// all versions of PyTorch.
Decline readMask(Value* mask, Value* type, Attention* attention) {
  if (isNone(mask)) return {};
  constexpr std::int64_t kPadding = 1, kScores = 2;
  const auto x = knownSizes(attention->x), sizes = knownSizes(mask);
  const bool known = x && x->size() == 3 && sizes && knownDtype(mask);
  const std::int64_t batch = known ? (*x)[0] : 0, tokens = known ? (*x)[1] : 0;
  const bool paddings = known && constantInt(type) == kPadding && *sizes == Ints{batch, tokens};
  const bool scores = known && constantInt(type) == kScores && *sizes == Ints{batch, attention->heads, tokens, tokens};
  if (!paddings && !scores)
    return {reasons::kUnsupportedAttribute, "Only masks of paddings and of single scores are written out."};
  attention->hidden = mask;
  return {};
}

// (query, key, value, embed_dim, num_head, qkv_weight, qkv_bias, proj_weight, proj_bias, mask?, need_weights,
// average_attn_weights, mask_type?) -> (result, weights)
Decline readNative(Node* node, Attention* attention) {
  if (node->inputs().size() < 13) return {reasons::kUnsupportedAttribute, "This form of attention stays as it is."};
  const bool to_itself = node->input(0) == node->input(1) && node->input(0) == node->input(2);
  if (!to_itself) return {reasons::kUnsupportedAttribute, "Attention to another source stays as it is."};
  *attention = {node->input(0), node->input(5), node->input(6),
                node->input(7), node->input(8), constantInt(node->input(4)).value_or(0)};
  attention->weights = node->output(1)->hasUses();
  const auto need = constantBool(node->input(10)), average = constantBool(node->input(11));
  if (attention->weights && (need != true || !average))
    return {reasons::kUnsupportedAttribute, "The weights of attention are read, but may not be there."};
  attention->average = average.value_or(false);
  const Decline why = readMask(node->input(9), node->input(12), attention);
  return why ? why : checkAttention(*attention, constantInt(node->input(3)), attention->x);
}

Decline readLayer(Node* node, EncoderLayer* layer) {
  if (isNested(node->input(0))) return {reasons::kUnknownShape, "A nested tensor has no sizes."};
  Decline why = readEncoderLayer(node, layer);
  if (!why) why = readMask(node->input(18), node->input(19), &layer->attention);
  return why ? why : checkAttention(layer->attention, constantInt(node->input(1)), layer->attention.x);
}

// The attention alone where the node is no whole layer.
std::optional<EncoderLayer> matchLayer(PassContext& context, Node* node, Decline* why) {
  if (!isNative(node) && !isLayer(node)) return std::nullopt;
  EncoderLayer layer;
  *why = isLayer(node) ? readLayer(node, &layer) : readNative(node, &layer.attention);
  for (Value* input : node->inputs()) {
    const bool tensor = input->type()->kind() == c10::TypeKind::TensorType;
    if (!*why && tensor && context.mayBeWritten(input))
      *why = {reasons::kAliased, "The graph writes to an operand of this attention."};
  }
  return layer;
}

void rewriteLayer(Rewriter& rewriter, Node* node, const EncoderLayer& layer) {
  const Attention& attention = layer.attention;
  AttentionWriter writer(rewriter, node, at::kFloat);
  AttentionWriter::Attended made =
      isLayer(node) ? AttentionWriter::Attended{writer.layer(layer)} : writer.attention(attention, attention.x);
  // A layer that the example run did not reach has no sizes of its own, and the next one asks for them.
  if (knownSizes(node->output(0))) made.result->setType(node->output(0)->type());
  std::vector<Value*> from{node->output(0)}, to{made.result};
  if (attention.weights) {
    from.push_back(node->output(1));
    to.push_back(made.weights);
  }
  rewriter.replaceAll({node}, from, to, "written out as products and sums");
}

bool canonicalizeAttention(Graph& graph, PassContext& context) {
  return rewriteMatches(context, context.nodes(kCanonicalizeAttention.needs), matchLayer, rewriteLayer);
}

}  // namespace

const Pass kCanonicalizeAttention = {"canonicalize-attention",
                                     "Writes fast paths of attention as the products they compute.",
                                     &canonicalizeAttention,
                                     {"aten::_native_multi_head_attention", "aten::_transformer_encoder_layer_fwd"}};

}  // namespace ipex_studio
