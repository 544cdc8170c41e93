// Helpers of the passes that append post-ops to a convolution, linear, matmul or pointwise operation.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/graph/elementwise.h"
#include "core/graph/pass.h"

namespace ipex_studio {

// An operation whose result only one node reads, so that this node may become its post-op.
struct Producer {
  torch::jit::Node* node = nullptr;
  FusedOp op;
};

// The producer of `data` for `user`. Declines: producer-has-other-uses, value-is-graph-output, control-flow,
// weights-not-constant, unsupported-attribute, unsupported-dtype.
std::optional<Producer> readProducer(torch::jit::Value* data, const torch::jit::Node* user, Decline* decline);

// True if `operand` may stand in a binary post-op on `data`, whose node is to move to where `operand` is read: same
// dtype, broadcast to `data` without enlarging it, and nothing that is read later may be written.
bool operandFits(PassContext& context, torch::jit::Value* operand, const torch::jit::Value* data, Decline* decline);
bool mayBeReadLater(PassContext& context, const FusedOp& op);

// Appends post-ops and operand to the operation; neighbouring factors and offsets become one. False, and nothing
// appended, when there is no room for more.
bool appendTo(FusedOp* op, const Elementwise& elementwise);

// True if the value is a float32 tensor as far as is known.
bool isFloat32(const torch::jit::Value* value);
// "relu" of aten::relu and ipex_studio::relu alike.
std::string shortName(const torch::jit::Node* node);

// factor·data, when `value` is a product of a tensor with a number.
std::optional<std::pair<double, torch::jit::Value*>> readFactor(torch::jit::Value* value);

// A node as a post-op of the producer of one of its operands.
struct PostOpMatch {
  Producer producer;
  Elementwise elementwise;
};
// For rewriteMatches(): an operation on one tensor, and one on two, which the later producer takes where both could.
std::optional<PostOpMatch> matchUnary(PassContext& context, torch::jit::Node* node, Decline* why);
std::optional<PostOpMatch> matchBinary(PassContext& context, torch::jit::Node* node, Decline* why);

// Appends the node to its producer, at the producer's place for unary post-ops, else at the node's, and with it all
// operations on one tensor that follow it, each the only reader of the one before.
void appendPostOps(Rewriter& rewriter, torch::jit::Node* node, const PostOpMatch& match);

// The body of passes that fuse two-tensor operations: nodes of `kinds` and the unary operations that follow them, in
// one walk. Returns whether anything changed.
bool fuseBinaryNodes(torch::jit::Graph& graph, PassContext& context, const std::vector<const char*>& kinds);

}  // namespace ipex_studio
