// Writes the fast paths of PyTorch's attention modules as what they compute, which other passes and plans know.
//   before  %y, %w = aten::_native_multi_head_attention(%x, %x, %x, 64, 4, %W, %b, %V, %c, None, False, True, None)
//   after   %qkv = linear(%x, %W, %b)   …   %p = softmax(div(matmul(%q, transpose(%k, -2, -1)), 4.0), -1, None)
//           %y = linear(view(permute(matmul(%p, %v), [0, 2, 1, 3]), …), %V, %c)
//   before  %y = aten::_transformer_encoder_layer_fwd(%x, …)
//   after   the same, with the sums, normalizations and products around it
// Padding masks fill scores with -inf, and the weights are given where they are read. Tracing or scripting
// nn.MultiheadAttention or nn.TransformerEncoderLayer for inference leaves these operators.
// Declines: unsupported-attribute (other masks, several sources), unknown-shape, unsupported-dtype, not-constant,
// value-may-be-aliased-or-written. Runs after fold-constants, which takes the branches to these operators, and before
// all that looks for products. Numerics: the factor is applied behind the product.
#include <cmath>
#include <limits>

#include "core/graph/node_facts.h"
#include "core/graph/rewrite_matches.h"
#include "passes/match/node_writer.h"
#include "passes/pass_list.h"

namespace ipex_studio {

using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;
using Ints = std::vector<std::int64_t>;

namespace {

struct Attention {
  Value* x = nullptr;  // [batch, tokens, width]
  Value *in_weight = nullptr, *in_bias = nullptr, *out_weight = nullptr, *out_bias = nullptr;
  std::int64_t heads = 0;
  Value* hidden = nullptr;                // [batch, tokens], true where there is only padding
  bool weights = false, average = false;  // are read; and their mean over the heads is
};

struct Attended {
  Value *result = nullptr, *weights = nullptr;
};

struct Layer {
  Attention attention;
  bool gelu = false, norm_first = false;
  double eps = 0;
  Value* norm[2][2] = {};    // weight and bias of the two normalizations
  Value* linear[2][2] = {};  // of the two products behind the attention
};

bool isNative(const Node* node) { return isKind(node, "aten::_native_multi_head_attention"); }
bool isLayer(const Node* node) { return isKind(node, "aten::_transformer_encoder_layer_fwd"); }

Decline checkAttention(const Attention& attention, std::optional<std::int64_t> width) {
  const auto sizes = knownSizes(attention.x);
  if (!sizes || sizes->size() != 3) return {reasons::kUnknownShape, "Only a batch of sequences is written out."};
  if (knownDtype(attention.x) != at::kFloat)
    return {reasons::kUnsupportedDtype, "Only attention in float32 is written out."};
  const bool fits = width == sizes->back() && attention.heads > 0 && *width % attention.heads == 0;
  return fits ? Decline() : Decline{reasons::kUnsupportedAttribute, "The heads do not divide the width."};
}

// Reads the optional mask of the operator. Of the mask types only that of paddings has one meaning in all versions of
// PyTorch.
Decline readMask(Value* mask, Value* type, Attention* attention) {
  if (isNone(mask)) return {};
  constexpr std::int64_t kPadding = 1;
  const auto x = knownSizes(attention->x), sizes = knownSizes(mask);
  const bool fits = x && sizes && sizes->size() == 2 && (*sizes)[0] == (*x)[0] && (*sizes)[1] == (*x)[1];
  if (!fits || constantInt(type) != kPadding || knownDtype(mask) != at::kBool)
    return {reasons::kUnsupportedAttribute, "Only masks of paddings are written out."};
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
  return why ? why : checkAttention(*attention, constantInt(node->input(3)));
}

// (src, embed_dim, num_heads, qkv_weight, qkv_bias, proj_weight, proj_bias, use_gelu, norm_first, eps, norm_weight_1,
// norm_bias_1, norm_weight_2, norm_bias_2, ffn_weight_1, ffn_bias_1, ffn_weight_2, ffn_bias_2, mask?, mask_type?)
Decline readLayer(Node* node, Layer* layer) {
  if (node->inputs().size() < 20) return {reasons::kUnsupportedAttribute, "This form of encoder layer stays as it is."};
  const auto gelu = constantBool(node->input(7)), norm_first = constantBool(node->input(8));
  const auto eps = constantNumber(node->input(9));
  if (!gelu || !norm_first || !eps)
    return {reasons::kNotConstant, "The form of an encoder layer is decided at run time."};
  layer->attention = {node->input(0), node->input(3), node->input(4),
                      node->input(5), node->input(6), constantInt(node->input(2)).value_or(0)};
  layer->gelu = *gelu;
  layer->norm_first = *norm_first;
  layer->eps = *eps;
  for (std::size_t i = 0; i < 4; ++i) {
    layer->norm[i / 2][i % 2] = node->input(10 + i);
    layer->linear[i / 2][i % 2] = node->input(14 + i);
    const auto weight = knownSizes(node->input(14 + i));
    if (!weight || weight->empty())
      return {reasons::kUnknownShape, "The sizes of an encoder layer's weights are not known."};
  }
  const Decline why = readMask(node->input(18), node->input(19), &layer->attention);
  return why ? why : checkAttention(layer->attention, constantInt(node->input(1)));
}

class AttentionWriter {
 public:
  AttentionWriter(Rewriter& rewriter, Node* node) : write_(rewriter, node), rewriter_(rewriter) {}

  Attended attention(const Attention& attention, Value* x) {
    const Ints sizes = *knownSizes(x);
    const std::int64_t batch = sizes[0], tokens = sizes[1], width = sizes[2], heads = attention.heads,
                       depth = width / heads;
    Value* joined =
        write_.make("aten::linear", {x, attention.in_weight, attention.in_bias}, {batch, tokens, 3 * width});
    Value* part[3];
    for (std::int64_t p = 0; p < 3; ++p) {
      Value* own = write_.make(
          "aten::slice",
          {joined, write_.number(2), write_.number(p * width), write_.number((p + 1) * width), write_.number(1)},
          sizes);
      Value* shape = write_.list({write_.size(x, 0), write_.size(x, 1), write_.number(heads), write_.number(depth)});
      part[p] = write_.permute(write_.make("aten::reshape", {own, shape}, {batch, tokens, heads, depth}), {0, 2, 1, 3});
    }
    Value* keys =
        write_.make("aten::transpose", {part[1], write_.number(-2), write_.number(-1)}, {batch, heads, depth, tokens});
    const Ints scores{batch, heads, tokens, tokens};
    Value* product = write_.make("aten::matmul", {part[0], keys}, scores);
    Value* scaled = write_.make("aten::mul", {product, write_.real(1 / std::sqrt(static_cast<double>(depth)))}, scores);
    if (attention.hidden != nullptr)
      scaled = write_.make("aten::masked_fill",
                           {scaled, perScore(attention.hidden), write_.real(-std::numeric_limits<double>::infinity())},
                           scores);
    Value* weights = write_.make("aten::softmax", {scaled, write_.number(-1), write_.none()}, scores);
    Value* mixed =
        write_.permute(write_.make("aten::matmul", {weights, part[2]}, {batch, heads, tokens, depth}), {0, 2, 1, 3});
    Value* flat = write_.make(
        "aten::reshape", {mixed, write_.list({write_.size(x, 0), write_.size(x, 1), write_.number(width)})}, sizes);
    Attended attended{write_.make("aten::linear", {flat, attention.out_weight, attention.out_bias}, sizes), weights};
    if (attention.weights && attention.average)
      attended.weights =
          write_.make("aten::mean", {weights, write_.ints({1}), write_.no(), write_.none()}, {batch, tokens, tokens});
    return attended;
  }

  Value* layer(const Layer& layer) {
    Value* x = layer.attention.x;
    Value* attended = attention(layer.attention, layer.norm_first ? normalized(layer, 0, x) : x).result;
    x = sum(attended, x);
    if (!layer.norm_first) x = normalized(layer, 0, x);
    const Ints sizes = *knownSizes(x);
    Ints wide = sizes;
    wide.back() = knownSizes(layer.linear[0][0])->front();
    Value* inner = write_.make(
        "aten::linear", {layer.norm_first ? normalized(layer, 1, x) : x, layer.linear[0][0], layer.linear[0][1]}, wide);
    inner = layer.gelu ? write_.make("aten::gelu", {inner, rewriter_.constant("none", write_.node())}, wide)
                       : write_.make("aten::relu", {inner}, wide);
    x = sum(write_.make("aten::linear", {inner, layer.linear[1][0], layer.linear[1][1]}, sizes), x);
    return layer.norm_first ? x : normalized(layer, 1, x);
  }

 private:
  // [batch, tokens] as [batch, 1, 1, tokens]
  Value* perScore(Value* hidden) {
    const Ints sizes = *knownSizes(hidden);
    NodeWriter flags(rewriter_, write_.node(), at::kBool);
    Value* inner = flags.make("aten::unsqueeze", {hidden, flags.number(1)}, {sizes[0], 1, sizes[1]});
    return flags.make("aten::unsqueeze", {inner, flags.number(1)}, {sizes[0], 1, 1, sizes[1]});
  }

  Value* sum(Value* a, Value* b) { return write_.make("aten::add", {a, b, write_.number(1)}, *knownSizes(a)); }

  Value* normalized(const Layer& layer, int which, Value* x) {
    const Ints sizes = *knownSizes(x);
    Value* shape = write_.ints({sizes.back()});
    return write_.make("aten::layer_norm",
                       {x, shape, layer.norm[which][0], layer.norm[which][1], write_.real(layer.eps), write_.no()},
                       sizes);
  }

  NodeWriter write_;
  Rewriter& rewriter_;
};

// The attention alone where the node is no whole layer.
std::optional<Layer> matchLayer(PassContext& context, Node* node, Decline* why) {
  if (!isNative(node) && !isLayer(node)) return std::nullopt;
  Layer layer;
  *why = isLayer(node) ? readLayer(node, &layer) : readNative(node, &layer.attention);
  for (Value* input : node->inputs()) {
    const bool tensor = input->type()->kind() == c10::TypeKind::TensorType;
    if (!*why && tensor && context.mayBeWritten(input))
      *why = {reasons::kAliased, "The graph writes to an operand of this attention."};
  }
  return layer;
}

void rewriteLayer(Rewriter& rewriter, Node* node, const Layer& layer) {
  const Attention& attention = layer.attention;
  AttentionWriter writer(rewriter, node);
  const Attended made = isLayer(node) ? Attended{writer.layer(layer)} : writer.attention(attention, attention.x);
  made.result->setType(node->output(0)->type());
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
