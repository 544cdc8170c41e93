// Translates each operation on quantized tensors for canonicalize-quantized. Private to that pass: the table of
// operations and
// those that move integers are in canonicalize_quantized.cpp, those that compute in quantized_operations.cpp.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/graph/fused_op.h"
#include "passes/pass_list.h"
#include "passes/quantize/integer_values.h"
#include "passes/quantize/packed_parameters.h"

namespace ipex_studio {

inline Decline notConstantInModel(const std::string& what) {
  return {reasons::kNotConstant, "Its " + what + " is computed while the model runs."};
}

class QuantizedReader {
 public:
  QuantizedReader(torch::jit::Graph& graph, PassContext& context)
      : graph_(graph), context_(context), rewriter_(context.rewriter) {}

  bool run();

  // Kinds that make quantized tensors; the other operations of the table also take them.
  static std::vector<const char*> makers();

 private:
  using Node = torch::jit::Node;
  using Value = torch::jit::Value;
  using Reader = Decline (QuantizedReader::*)(Node*);

  static const std::unordered_map<std::string, Reader>& table();
  void read(Node* node);
  const AffineParameters* affineOf(const Value* value) const { return integers_.affineOf(value); }

  // Writing.
  void finish(Node* node, Value* result, const std::optional<AffineParameters>& affine, const char* text);
  Value* typed(Node* made, const Node* like, at::ScalarType dtype);
  // `post_ops` of real values, and their rounding.
  Decline chain(Node* node, Value* x, std::vector<PostOp> post_ops, const std::vector<Value*>& operands,
                const AffineParameters& result);
  Decline wholeChain(Node* node, Value* x, std::vector<PostOp> post_ops, const std::vector<Value*>& operands,
                     const AffineParameters& result);

  // Reading: each says why it leaves the node as it is.
  Decline quantize(Node* node);
  Decline dequantize(Node* node);
  Decline product(Node* node, FusedOp op, const PackedParameters& packed);
  static bool isWithRelu(const Node* node);
  Decline convolution(Node* node);
  Decline linear(Node* node);
  // quantized::linear_dynamic(x, packed, reduce_range)
  Decline linearDynamic(Node* node);
  Decline binaryOperands(Node* node, const AffineParameters** a, const AffineParameters** b,
                         std::optional<AffineParameters>* result);
  // The chain starts at an operand that has the sizes of the result.
  static bool startsAt(const Node* node, std::size_t side);
  Decline add(Node* node);
  // Integers with zero point 0 are multiplied as they are; others are dequantized first.
  Decline multiply(Node* node);
  // quantized::cat(Tensor[] x, dim, scale?, zero_point?)
  Decline concatenate(Node* node);
  Value* rescaled(Value* value, const AffineParameters& wanted, bool relu, Node* before);
  Decline activation(Node* node);
  // The operation stays and moves or averages integers; where plans cannot do that it keeps quantized tensors.
  Decline move(Node* node);
  // A mean of integers in their unit, which is rounded behind it: a portable export has floats there, which would keep
  // the rest.
  Decline average(Node* node);
  // Integers have the same sizes.
  Decline measure(Node* node);
  // A list of parts that is taken apart at once.
  Decline divide(Node* node);

  torch::jit::Graph& graph_;
  PassContext& context_;
  Rewriter& rewriter_;
  IntegerValues integers_;
  bool changed_ = false;
};

}  // namespace ipex_studio
