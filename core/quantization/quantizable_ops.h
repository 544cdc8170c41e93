// Quantizable ops: the operations of a fused graph that INT8 may concern, and the names of their values. Calibration
// and the pass insert-quantize both start from them.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/graph/fused_op.h"
#include "core/graph/origins.h"
#include "core/lower/lowering.h"
#include "core/quantization/calibration_plan.h"

namespace ipex_studio {

// The role of an operation under INT8.
enum class QuantizableRole {
  kProduct,    // convolution, linear with constant weights, matmul of activations: computes in integers
  kPointwise,  // a chain: reads and writes integers or floats, computes in FP32
  kMoves,      // views, concatenation, max pool, nearest resize: integers pass through, one scale in and out
  kAverages,   // means and average pools: read integers, write integers or floats in their units
  kAttention,  // reads floats, computes in FP32 or with products in BF16, writes integers or floats
};

struct QuantizableOp {
  torch::jit::Node* node = nullptr;
  QuantizableRole role = QuantizableRole::kMoves;
  LoweredOp op;  // kMoves: the first operation, if a view takes several
  bool is_view = false;
  std::vector<torch::jit::Value*> activations;  // float operands that are no constants; base operands first
  std::vector<std::size_t> positions;           // of the activations among the operation's sources
  std::size_t base_count = 0;                   // activations that are base operands; the rest are post operands

  // True if this activation may stay integers although the chain reads it.
  bool takesIntegers(std::size_t activation) const;
};

// Reads the node as a quantizable op; nullopt if INT8 does not concern it. Expects FP32 values.
std::optional<QuantizableOp> quantizableOpOf(torch::jit::Node* node);

// The values whose ranges cover `value`, found through views, paddings and other operations that move elements.
std::vector<torch::jit::Value*> sourcesOf(torch::jit::Value* value);

// Names of the float values at the top level of a graph, "" for a value without one. Only values that are read count.
class ValueKeys {
 public:
  ValueKeys(torch::jit::Graph& graph, const OriginTable& origins);
  const std::string& of(const torch::jit::Value* value) const;

 private:
  std::unordered_map<const torch::jit::Value*, std::string> keys_;
};

// Plans a calibration: the values to observe, in order of the graph's nodes without constants. `numbers` gets the
// origin table that buildRegions must be given so that plan nodes carry the numbers of CalibrationPlan::results.
CalibrationPlan planCalibration(torch::jit::Graph& graph, const OriginTable& origins, OriginTable* numbers);

}  // namespace ipex_studio
