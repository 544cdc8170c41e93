// Reading and writing of operations with post-ops in a graph, so that a fusion pass is a few lines.
//
//   ipex_studio::convolution  (Tensor x, Tensor w, Tensor? b, Tensor[] post_args, str spec) -> Tensor
//   ipex_studio::deconvolution(Tensor x, Tensor w, Tensor? b, Tensor[] post_args, str spec) -> Tensor
//   ipex_studio::linear       (Tensor x, Tensor w, Tensor? b, Tensor[] post_args, str spec) -> Tensor
//   ipex_studio::matmul       (Tensor a, Tensor b, Tensor[] post_args, str spec) -> Tensor
//   ipex_studio::pointwise    (Tensor x, Tensor[] post_args, str spec) -> Tensor
//   ipex_studio::squeeze_excite(Tensor x, Tensor reduce, Tensor? b, Tensor expand, Tensor? c, Tensor[] post_args, str spec) -> Tensor
//   ipex_studio::softmax      (Tensor x, Tensor? mask, str spec) -> Tensor
//   ipex_studio::attention    (Tensor q, Tensor k, Tensor v, Tensor? mask, str spec) -> Tensor
//   ipex_studio::embedding    (Tensor ids, Tensor table, str spec) -> Tensor
//   ipex_studio::embedding_bag(Tensor ids, Tensor offsets, Tensor table, str spec) -> Tensor
//   ipex_studio::layer_norm   (Tensor x, Tensor? gamma, Tensor? beta, Tensor? residual, str spec) -> Tensor
//   ipex_studio::add_layer_norm(Tensor x, Tensor? gamma, Tensor? beta, Tensor residual, str spec) -> (Tensor, Tensor)
//
// `spec` is the text of an OpSpec; post operand k of the spec is post_args[k].
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/graph/rewriter.h"
#include "core/op/op_spec.h"

namespace ipex_studio {

struct FusedOp {
  OpSpec spec;
  std::vector<torch::jit::Value*> base;  // fixed operands in the order above; absent optional: a None constant
  std::vector<torch::jit::Value*> post_args;
};

// Reads ipex_studio::{convolution,deconvolution,linear,matmul,pointwise,squeeze_excite}, aten::convolution (constant attributes),
// aten::linear, aten::matmul/bmm/mm. nullopt for anything else. `why` (may be null) gets the reason when the node is of
// such a kind but cannot be read (attribute not constant …).
std::optional<FusedOp> readFusedOp(torch::jit::Node* node, std::string* why = nullptr);
// False for the kinds of nodes that readFusedOp() never reads, and never says why.
bool mayBeFusedOp(c10::Symbol kind);

// A new ipex_studio:: node for it before `before`.
torch::jit::Node* writeFusedOp(Rewriter& rewriter, const FusedOp& op, torch::jit::Node* before);

// The post-op that an elementwise node with one tensor operand is: aten::relu, hardtanh/relu6/clamp, sigmoid, tanh,
// gelu, silu, hardswish, hardsigmoid, leaky_relu, elu, mish, abs, exp, …, add/mul/sub/div with a number. nullopt when it
// is none or an attribute is not constant. Binary nodes with two tensors are not unary.
std::optional<PostOp> readUnaryPostOp(torch::jit::Node* node);

// Constants. nullopt when the value is not constant or of another type.
std::optional<at::Tensor> constantTensor(const torch::jit::Value* value);
std::optional<std::int64_t> constantInt(const torch::jit::Value* value);
std::optional<double> constantNumber(const torch::jit::Value* value);  // int, float or 1-element tensor
std::optional<bool> constantBool(const torch::jit::Value* value);
std::optional<std::vector<std::int64_t>> constantInts(
    const torch::jit::Value* value);  // int[] constant, ListConstruct of constants, or one int
bool isNone(const torch::jit::Value* value);

// Shape facts (set at load by running the example input): complete sizes / dtype, or nullopt.
std::optional<std::vector<std::int64_t>> knownSizes(const torch::jit::Value* value);
std::optional<at::ScalarType> knownDtype(const torch::jit::Value* value);

// Exactly one use, and that use is an operand of `user` (not a graph or block output).
bool usedOnlyBy(const torch::jit::Value* value, const torch::jit::Node* user);

// A float32 CPU constant as a fresh contiguous tensor with gradients off.
at::Tensor floatContiguous(const at::Tensor& tensor);

}  // namespace ipex_studio
