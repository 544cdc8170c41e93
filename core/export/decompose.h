// Replaces fused operations by stock operators, for the portable export.
#pragma once

#include "core/graph/rewriter.h"

namespace ipex_studio {

// Replaces every ipex_studio:: fused operator of `graph` by operators that stock PyTorch 1.13 and later have: the same
// numbers up to reassociation. Asymmetric padding becomes constant_pad_nd in front of the convolution. Integers become
// the floats that hold them, rounded and clamped where they are made; averages of integers are not rounded. BF16 stays
// BF16, rounded once more between a product and the operation behind it. Each operator is one rewrite; the rewriter
// must have no limit. Throws Error(kBadModel) if a description is damaged.
void decomposeFusedOps(torch::jit::Graph& graph, Rewriter& rewriter);

}  // namespace ipex_studio
