// Convolution, transposed convolution and linear with constant weights, seen as y[c] = w[c]·x + b[c]. Shared by the
// passes that fold something into weights.
#pragma once

#include <optional>
#include <vector>

#include "core/graph/fused_op.h"
#include "core/graph/pass.h"

namespace ipex_studio {

// Positions of the operands of aten::convolution.
constexpr std::size_t kConvolutionPadding = 4, kConvolutionTransposed = 6, kConvolutionGroups = 8;

struct WeightedNode {
  torch::jit::Node* node = nullptr;  // aten::convolution or aten::linear
  at::Tensor weight;
  std::optional<at::Tensor> bias;
  bool transposed = false;
  std::int64_t groups = 1;

  bool isLinear() const { return node->kind() == torch::jit::aten::linear; }
  std::int64_t channels() const;  // of the result
};

// scale · y + shift of a result y, float64: one element each, or one per channel.
struct ChannelAffine {
  at::Tensor scale, shift;
};

// The elements of a tensor of float32 or float64 on the CPU, in order.
std::vector<double> doublesOf(const at::Tensor& tensor);

bool isWeightedNode(const torch::jit::Node* node);

// Declines: weights-not-constant, unsupported-dtype, unsupported-attribute, value-may-be-aliased-or-written.
Decline readWeightedNode(torch::jit::Node* node, PassContext& context, WeightedNode& result);

// Decides whether `user` may absorb `node`. Declines: value-is-graph-output, producer-has-other-uses, control-flow.
Decline checkOnlyUse(const torch::jit::Node* node, const torch::jit::Node* user);

// Replaces `weighted` and its only user `user` by one node with y' = scale[c]·y + shift[c]. `scale` and `shift` are
// float64 of one element or one per channel, and have passed checkFinite; weights are computed in float64 and rounded
// once. The new node stands where the old one stood, so nothing that is written in between can be seen. New tensors:
// constants that others share keep their values. Ask permit() before.
void foldAffine(const WeightedNode& weighted, torch::jit::Node* user, const at::Tensor& scale, const at::Tensor& shift,
                Rewriter& rewriter, const std::string& text);
Decline checkFinite(const at::Tensor& scale, const at::Tensor& shift);

}  // namespace ipex_studio
