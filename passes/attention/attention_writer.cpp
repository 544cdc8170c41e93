// Attention and encoder layers written out.
#include "passes/attention/attention_writer.h"

#include <cmath>
#include <limits>

#include "core/graph/node_facts.h"

namespace ipex_studio {

using torch::jit::Node;
using torch::jit::Value;

Decline checkAttention(const Attention& attention, std::optional<std::int64_t> width, Value* x) {
  const auto sizes = knownSizes(x);
  if (!sizes || sizes->size() != 3) return {reasons::kUnknownShape, "Only a batch of sequences is written out."};
  if (knownDtype(x) != at::kFloat) return {reasons::kUnsupportedDtype, "Only attention in float32 is written out."};
  const bool fits = width == sizes->back() && attention.heads > 0 && *width % attention.heads == 0;
  return fits ? Decline() : Decline{reasons::kUnsupportedAttribute, "The heads do not divide the width."};
}

Decline readEncoderLayer(Node* node, EncoderLayer* layer) {
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
  return {};
}

AttentionWriter::Attended AttentionWriter::attention(const Attention& attention, Value* x) {
  const Ints given = *knownSizes(x);
  const std::int64_t width = given.back(), heads = attention.heads, depth = width / heads;
  Ints wide = given;
  wide.back() = 3 * width;
  Value* joined = spread(write_.make("aten::linear", {x, attention.in_weight, attention.in_bias}, wide), 3 * width);
  const Ints whole = *knownSizes(joined);
  const std::int64_t batch = whole[0], tokens = whole[1];
  Value* part[3];
  for (std::int64_t p = 0; p < 3; ++p) {
    Value* own = write_.make(
        "aten::slice",
        {joined, write_.number(2), write_.number(p * width), write_.number((p + 1) * width), write_.number(1)},
        {batch, tokens, width});
    Value* shape = tokenShape({write_.number(heads), write_.number(depth)}, x);
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
  Value* flat = write_.make("aten::reshape", {mixed, tokenShape({write_.number(width)}, x)}, {batch, tokens, width});
  Attended attended{
      write_.make("aten::linear", {gathered(flat, given), attention.out_weight, attention.out_bias}, given), weights};
  if (attention.weights && attention.average)
    attended.weights =
        write_.make("aten::mean", {weights, write_.ints({1}), write_.no(), write_.none()}, {batch, tokens, tokens});
  return attended;
}

Value* AttentionWriter::layer(const EncoderLayer& layer) {
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

// [batch, tokens] as [batch, 1, 1, tokens]; a mask of single scores as it is, before it was expanded
Value* AttentionWriter::perScore(Value* hidden) {
  const bool scores = knownSizes(hidden)->size() == 4;
  if (isKind(hidden->node(), "aten::expand") && knownSizes(hidden->node()->input(0))) hidden = hidden->node()->input(0);
  const Ints sizes = *knownSizes(hidden);
  NodeWriter flags(rewriter_, write_.node(), at::kBool);
  if (knownDtype(hidden) != at::kBool) hidden = flags.make("aten::ne", {hidden, flags.number(0)}, sizes);
  if (scores) return hidden;
  Value* inner = flags.make("aten::unsqueeze", {hidden, flags.number(1)}, {sizes[0], 1, sizes[1]});
  return flags.make("aten::unsqueeze", {inner, flags.number(1)}, {sizes[0], 1, 1, sizes[1]});
}

// The list [batch, tokens, widths…]
Value* AttentionWriter::tokenShape(const std::vector<Value*>& widths, Value* x) {
  std::vector<Value*> entries{packed_ != nullptr ? packed_->batch : write_.size(x, 0),
                              packed_ != nullptr ? packed_->tokens : write_.size(x, 1)};
  entries.insert(entries.end(), widths.begin(), widths.end());
  return write_.list(entries);
}

// Packed tokens as a batch.
Value* AttentionWriter::spread(Value* joined, std::int64_t width) {
  if (packed_ == nullptr) return joined;
  const Ints sizes{packed_->sizes[0], packed_->sizes[1], width};
  Value* rows =
      write_.make("aten::index_select", {joined, write_.number(0), packed_->places}, {sizes[0] * sizes[1], width});
  return write_.make("aten::reshape", {rows, tokenShape({write_.number(width)}, joined)}, sizes);
}

// A batch as packed tokens.
Value* AttentionWriter::gathered(Value* mixed, const Ints& sizes) {
  if (packed_ == nullptr) return mixed;
  Value* rows = write_.make("aten::reshape", {mixed, write_.ints({-1, sizes[1]})},
                            {packed_->sizes[0] * packed_->sizes[1], sizes[1]});
  return write_.make("aten::index_select", {rows, write_.number(0), packed_->rows}, sizes);
}

Value* AttentionWriter::normalized(const EncoderLayer& layer, int which, Value* x) {
  const Ints sizes = *knownSizes(x);
  Value* shape = write_.ints({sizes.back()});
  return write_.make("aten::layer_norm",
                     {x, shape, layer.norm[which][0], layer.norm[which][1], write_.real(layer.eps), write_.no()},
                     sizes);
}

}  // namespace ipex_studio
