// Measures the error of each operation of a model in lower precision against FP32.
#pragma once

#include <unordered_map>
#include <vector>

#include "core/model/model.h"
#include "core/record/records.h"

namespace ipex_studio {

// The operations that are compared: those that read or write BF16, FP16 or integers, or all with a result in FP32.
enum class ComparedNodes { kLower, kAll };

// Makes two records for each operation of `rewritten` that is compared, with its origins:
//   reference "fp32, alone"  operands as in FP32, rounded to what the operation reads: its own error
//   reference "fp32"         with all operations before it in lower precision too: the accumulated error
// `frozen`: the same model as freezeForPasses gives it. `rewritten`, `origins`: OptimizedModel's. Both are run once,
// node by node. `divisors`: OptimizedModel's, so that values that were scaled on purpose are compared as they are
// meant. Operations whose FP32 values would need more than `most_bytes` together are left out. Throws
// Error(kUnsupported) for graphs that cannot be run so. Not thread-safe on the same modules.
std::vector<AccuracyRecord> nodeAccuracy(const torch::jit::Module& frozen, const torch::jit::Module& rewritten,
                                         const std::vector<std::vector<OriginId>>& origins, const Inputs& inputs,
                                         const std::unordered_map<OriginId, at::Tensor>& divisors = {},
                                         ComparedNodes compared = ComparedNodes::kLower,
                                         std::int64_t most_bytes = std::int64_t{1} << 30);

}  // namespace ipex_studio
