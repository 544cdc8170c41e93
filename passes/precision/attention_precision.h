// Questions of insert-casts about attention, and attention written with products in BF16. Private to that pass.
#pragma once

#include <optional>
#include <unordered_set>

#include "core/graph/rewriter.h"
#include "core/lower/lowering.h"

namespace ipex_studio {

// The operations of an attention node, fused or PyTorch's own: the last one is the attention, the ones before it
// prepare the mask. nullopt for other nodes, and if the precision of its products is chosen already.
std::optional<LoweredNode> readAttention(torch::jit::Node* node);

// The node (chunk, split, unbind) that makes the list of pieces that `unpack` alone unpacks: views of its first
// operand. Null for other nodes.
torch::jit::Node* piecesUnpackedBy(torch::jit::Node* unpack);

// Reads the sizes of its operand only, whatever its type.
bool asksForSizes(const torch::jit::Node* node);

// True if this use is the mask of an attention, which stays FP32 whatever the products are.
bool isMask(const torch::jit::Use& use);

// Convolution, linear layer or matmul of integers whose result is FP32.
bool isProductOfIntegers(torch::jit::Node* node);

// True if a product of integers gives queries, keys or values, perhaps through chains and operations that only move
// elements.
bool attendsToIntegerProducts(const LoweredNode& attention);

// True if `value` is read as queries, keys or values of `attentions` only, perhaps through operations that only move
// elements.
bool readByAttentionOnly(torch::jit::Value* value, const std::unordered_set<const torch::jit::Node*>& attentions);

// The same node with products=bf16 in the place of `node`, which stays; its result is BF16 unless it is integers.
torch::jit::Node* writeBf16Attention(Rewriter& rewriter, torch::jit::Node* node, const LoweredNode& attention);

}  // namespace ipex_studio
