// The decision of insert-casts about an operation: compute it in low-precision floats, let it follow its operands, or
// keep it in FP32. Private
// to that pass.
//
// Products are lowered: they sum in FP32. Chains, pools, concatenations and views follow. Normalizations, softmax,
// reductions and all else keep FP32. FP16 has the range of 65504, so there chains and products keep FP32, too, that
// take exponentials, powers, logarithms, reciprocals or softplus - the operators that PyTorch's autocast keeps in FP32
// for FP16 (aten/src/ATen/autocast_mode.h) -, or have a number or constant beyond that range; and so does what PyTorch
// 1.13 or this project has no code for in FP16: pools and attention. Activations beyond the range show when results are
// verified.
#pragma once

#include <optional>

#include "core/graph/fused_op.h"
#include "core/lower/lowering.h"

namespace ipex_studio {

struct LowPrecisionFloat {
  at::ScalarType type;
  const char* name;   // of the precision
  const char* dtype;  // in specs
  const char* title;  // for people
};
extern const LowPrecisionFloat kBf16Floats, kFp16Floats;

enum class CastRole { kKeep, kFollow, kLower };

struct CastPolicy {
  CastRole role = CastRole::kKeep;
  bool is_view = false;
  const char* why = "";  // a sentence; empty: nothing that a person would ask about
};

// `lowered`: the operations of `node`, whose result is FP32.
CastPolicy castPolicy(torch::jit::Node* node, const LoweredNode& lowered, const LowPrecisionFloat& low);

// Convolution, linear or matmul.
bool isFloatProduct(OpKind kind);

// The chain that a stock elementwise operator is, where it is one of values alone: PyTorch 1.13 runs few of them in
// FP16.
std::optional<FusedOp> readStockChain(torch::jit::Node* node);

// What one result of a convolution is computed from; zeros for other nodes.
struct WindowSize {
  std::int64_t channels = 0, products = 0;
};
WindowSize windowSeen(torch::jit::Node* node);

}  // namespace ipex_studio
