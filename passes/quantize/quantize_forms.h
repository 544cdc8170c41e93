// Decides which operations read and write integers: a least-cost labelling of the graph. Private to insert-quantize.
#pragma once

#include <vector>

#include "core/quantization/quantizable_ops.h"

namespace ipex_studio {

struct Forms {
  bool in = false, out = false;  // true: integers
  bool operator==(const Forms& other) const { return in == other.in && out == other.out; }
};

// One of `alternatives` (at least one) for each quantizable op, such that the fewest bytes are moved, conversions and
// their steps counted. Quantizable ops in order of the graph.
std::vector<Forms> assignForms(const std::vector<QuantizableOp>& quantizable_ops,
                               const std::vector<std::vector<Forms>>& alternatives);

// The operation that reads a value at this use: a list belongs to its reader.
const torch::jit::Node* readerAt(const torch::jit::Use& use);

}  // namespace ipex_studio
