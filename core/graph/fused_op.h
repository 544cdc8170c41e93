// Reading and writing of operations with post-ops in a graph, so that a fusion pass is a few lines.
//
//   ipex_studio::convolution  (Tensor x, Tensor w, Tensor? b, Tensor[] post_args, str spec) -> Tensor
//   ipex_studio::deconvolution(Tensor x, Tensor w, Tensor? b, Tensor[] post_args, str spec) -> Tensor
//   ipex_studio::linear       (Tensor x, Tensor w, Tensor? b, Tensor[] post_args, str spec) -> Tensor
//   ipex_studio::matmul       (Tensor a, Tensor b, Tensor[] post_args, str spec) -> Tensor
//   ipex_studio::pointwise    (Tensor x, Tensor[] post_args, str spec) -> Tensor
//   ipex_studio::squeeze_excite(Tensor x, Tensor reduce, Tensor? b, Tensor expand, Tensor? c, Tensor[] post_args,
//                               str spec) -> Tensor
//   ipex_studio::softmax      (Tensor x, Tensor? mask, str spec) -> Tensor
//   ipex_studio::attention    (Tensor q, Tensor k, Tensor v, Tensor? mask, str spec) -> Tensor
//   ipex_studio::rotary       (Tensor x, Tensor cos, Tensor sin, str spec) -> Tensor
//   ipex_studio::embedding    (Tensor ids, Tensor table, str spec) -> Tensor
//   ipex_studio::embedding_bag(Tensor ids, Tensor offsets, Tensor table, str spec) -> Tensor
//   ipex_studio::interaction  (Tensor[] features, str spec) -> Tensor
//   ipex_studio::gather_scatter(Tensor like, Tensor to, Tensor x, Tensor? from, Tensor? weights, str spec) -> Tensor
//   ipex_studio::fourier      (Tensor x, Tensor? window, str spec) -> Tensor
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

// Reads ipex_studio::{convolution,deconvolution,linear,matmul,pointwise,squeeze_excite}, aten::convolution (constant
// attributes), aten::linear, aten::matmul/bmm/mm. Returns nullopt for anything else. `why` (may be null) gets the
// reason if the node is of such a kind but cannot be read (attribute not constant …).
std::optional<FusedOp> readFusedOp(torch::jit::Node* node, std::string* why = nullptr);
// False for kinds that readFusedOp() neither reads nor gives a reason for.
bool mayBeFusedOp(c10::Symbol kind);

// Creates the ipex_studio:: node of `op` before `before`.
torch::jit::Node* writeFusedOp(Rewriter& rewriter, const FusedOp& op, torch::jit::Node* before);

// Reads an elementwise node with one tensor operand as a post-op: aten::relu, hardtanh/relu6/clamp, sigmoid, tanh,
// gelu, silu, hardswish, hardsigmoid, leaky_relu, elu, mish, abs, exp, …, add/mul/sub/div with a number. Returns
// nullopt for other nodes and if an attribute is not constant. Binary nodes with two tensors are not unary.
std::optional<PostOp> readUnaryPostOp(torch::jit::Node* node);

// Readers of constants; nullopt if the value is not constant or of another type.
std::optional<at::Tensor> constantTensor(const torch::jit::Value* value);
std::optional<std::int64_t> constantInt(const torch::jit::Value* value);
std::optional<double> constantNumber(const torch::jit::Value* value);  // int, float or 1-element tensor
std::optional<bool> constantBool(const torch::jit::Value* value);
// The elements of a prim::ListConstruct that stay what they are because all of its users only read them; nullopt for
// other values, and for lists that may be appended to, written or kept under another name. Whoever takes a list for its
// elements asks here.
std::optional<c10::ArrayRef<const torch::jit::Value*>> decidedElements(const torch::jit::Value* list);
// An int[] constant, a ListConstruct of constants, or one int.
std::optional<std::vector<std::int64_t>> constantInts(const torch::jit::Value* value);
bool isNone(const torch::jit::Value* value);

// Shape facts that the example run left at load: complete sizes, and the dtype; nullopt if they are unknown.
std::optional<std::vector<std::int64_t>> knownSizes(const torch::jit::Value* value);
std::optional<at::ScalarType> knownDtype(const torch::jit::Value* value);

// True if the value has exactly one use, which is an operand of `user` (not a graph or block output).
bool usedOnlyBy(const torch::jit::Value* value, const torch::jit::Node* user);

// Copies a float32 CPU constant into a contiguous tensor with gradients off.
at::Tensor floatContiguous(const at::Tensor& tensor);

}  // namespace ipex_studio
