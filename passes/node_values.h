// What a value holds in a model, in the optimized model and in FP64.
#pragma once

#include <string>

#include "core/record/value_record.h"
#include "passes/compare_rewritten.h"

namespace ipex_studio {

// The node that `name` means: "#17" the origin 17, else its full name, "layer1.0.conv3 (aten::conv2d)", else the last
// node of the module "layer1.0", else the first node in whose name all words are. Throws Error(kUsage) if there is
// none.
OriginId originNamed(const OriginTable& table, const std::string& name);

// Runs the original, its FP64 copy and `optimized.rewritten` up to the first value that the node `origin` gives, or
// where a fused node stands for it and others, up to what that node gives. Holds one copy of that value per form.
// Throws Error(kUsage) if the node gives no tensor, and what running the original throws.
ValueRecord nodeValues(const FrozenOriginal& original, const OptimizedModel& optimized, const Inputs& inputs,
                       const AccuracyRule& rule, OriginId origin);

}  // namespace ipex_studio
