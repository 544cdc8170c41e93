// Writes operations with integers and the conversions between them. Private to the passes that follow a recipe.
#pragma once

#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/graph/pass.h"
#include "core/quantization/recipe.h"
#include "core/quantization/weights.h"
#include "passes/quantize/quantize_forms.h"
#include "passes/quantize/requantization.h"

namespace ipex_studio {

// One operation to be rewritten: forms as labelled, parameters as calibrated.
struct QuantizedOp {
  QuantizableOp quantizable;
  Forms forms;
  std::vector<AffineParameters> activations;  // of each activation, were it integers
  AffineParameters result;                    // likewise
  const RecipeValue* input = nullptr;         // what was seen of base operand 0; null: nothing of its own
  std::vector<double> smoothing;              // factors per channel of base operand 0; empty: none
};

// The weights of a convolution or linear layer as integers of `bits`, multiplied by its smoothing factors before, and
// the bias, f64, which takes back what rounding the weights shifts where `bias_correction` asks for it.
IntegerWeights integerWeightsOf(const QuantizedOp& quantized, int bits, bool bias_correction);

// The place to convert a value once for all its readers, which run after it and not before `before`.
torch::jit::Node* placeBehind(torch::jit::Value* value, torch::jit::Node* before);

class QuantizeWriter {
 public:
  QuantizeWriter(PassContext& context, int weight_bits, bool bias_correction)
      : rewriter_(context.rewriter), weight_bits_(weight_bits), bias_correction_(bias_correction) {}

  // False: it neither is to read or write integers nor has an operand that is integers by now.
  bool concerns(const QuantizedOp& quantized) const;
  void write(const QuantizedOp& quantized);
  // Gives back real values to whatever reads integers without knowing.
  void returnToFloat();
  bool changed() const { return !integers_.empty(); }

 private:
  using Value = torch::jit::Value;
  using Node = torch::jit::Node;

  Value* now(Value* value) const;
  bool isInteger(const Value* value) const { return integers_.count(value) != 0; }
  Value* asInteger(Value* value, const AffineParameters& wanted, Node* before);
  Value* asSmoothed(Value* value, const AffineParameters& wanted, const std::vector<double>& factors, Node* before);
  Value* asFloat(Value* value, Node* before);
  Value* pointwise(Value* x, std::vector<PostOp> chain, const std::vector<Value*>& operands, at::ScalarType dtype,
                   Node* before);

  void writeProduct(const QuantizedOp& quantized);
  void writeChain(const QuantizedOp& quantized);
  void writeMove(const QuantizedOp& quantized);
  void writeAttention(const QuantizedOp& quantized);
  void replace(const QuantizedOp& quantized, FusedOp op, const char* text);
  // The operation's own post-operations behind what `op` has already, with integer operands read as they are.
  void appendChain(const QuantizedOp& quantized, FusedOp* op);

  Rewriter& rewriter_;
  int weight_bits_;
  bool bias_correction_;
  std::unordered_map<const Value*, Value*> now_;                 // results that were replaced
  std::unordered_map<const Value*, AffineParameters> integers_;  // values that are integers
  std::vector<Value*> order_;                                    // the same, as they were made
  std::map<std::tuple<const Value*, double, std::int64_t>, Value*> made_integer_;
  std::unordered_map<const Value*, Value*> made_smoothed_, made_float_;
  std::unordered_set<const Node*> readers_;  // nodes that know that they read integers
};

}  // namespace ipex_studio
