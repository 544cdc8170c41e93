// Reads encoder layers of PyTorch's fast path, and writes attention and layers as the products they compute. Private to
// passes/attention.
#pragma once

#include <cstdint>
#include <vector>

#include "core/graph/pass.h"
#include "passes/match/node_writer.h"

namespace ipex_studio {

struct Attention {
  torch::jit::Value* x = nullptr;  // [batch, tokens, width]
  torch::jit::Value *in_weight = nullptr, *in_bias = nullptr, *out_weight = nullptr, *out_bias = nullptr;
  std::int64_t heads = 0;
  // [batch, tokens], true where there is only padding, or [batch, heads, tokens, tokens], true for scores left out; of
  // another dtype than bool, all but 0 is true
  torch::jit::Value* hidden = nullptr;
  bool weights = false, average = false;  // are read; and their mean over the heads is
};

struct EncoderLayer {
  Attention attention;
  bool gelu = false, norm_first = false;
  double eps = 0;
  torch::jit::Value* norm[2][2] = {};    // weight and bias of the two normalizations
  torch::jit::Value* linear[2][2] = {};  // of the two products behind the attention
};

// The tokens of a batch without its paddings, one behind the other: [count, width] for [batch, tokens, width].
struct PackedTokens {
  torch::jit::Value* rows = nullptr;    // [count], the place of each in the batch
  torch::jit::Value* places = nullptr;  // [batch · tokens], where each stands here; any token for paddings
  torch::jit::Value *batch = nullptr, *tokens = nullptr;  // integers
  std::vector<std::int64_t> sizes;                        // batch and tokens, for types
};

// Reads all of aten::_transformer_encoder_layer_fwd but its mask: (src, embed_dim, num_heads, qkv_weight, qkv_bias,
// proj_weight, proj_bias, use_gelu, norm_first, eps, norm_weight_1, norm_bias_1, norm_weight_2, norm_bias_2,
// ffn_weight_1, ffn_bias_1, ffn_weight_2, ffn_bias_2, mask?, mask_type?)
Decline readEncoderLayer(torch::jit::Node* node, EncoderLayer* layer);

// Declines attention that is not over `width` numbers in FP32, or whose heads do not divide them.
Decline checkAttention(const Attention& attention, std::optional<std::int64_t> width, torch::jit::Value* x);

class AttentionWriter {
 public:
  struct Attended {
    torch::jit::Value *result = nullptr, *weights = nullptr;
  };

  // Nodes come before `node`. `packed`: x is [count, width]; null: [batch, tokens, width].
  AttentionWriter(Rewriter& rewriter, torch::jit::Node* node, at::ScalarType dtype,
                  const PackedTokens* packed = nullptr)
      : write_(rewriter, node, dtype), rewriter_(rewriter), packed_(packed) {}

  Attended attention(const Attention& attention, torch::jit::Value* x);
  torch::jit::Value* layer(const EncoderLayer& layer);

 private:
  using Value = torch::jit::Value;
  using Ints = std::vector<std::int64_t>;

  Value* perScore(Value* hidden);
  Value* spread(Value* joined, std::int64_t width);
  Value* gathered(Value* mixed, const Ints& sizes);
  Value* tokenShape(const std::vector<Value*>& widths, Value* x);
  Value* sum(Value* a, Value* b) { return write_.make("aten::add", {a, b, write_.number(1)}, *knownSizes(a)); }
  Value* normalized(const EncoderLayer& layer, int which, Value* x);

  NodeWriter write_;
  Rewriter& rewriter_;
  const PackedTokens* packed_;
};

}  // namespace ipex_studio
