// Names of dense layouts, as measurements and compiled exports keep them.
#pragma once

#include <optional>
#include <string>

#include "core/op/tensor_view.h"

namespace ipex_studio {

// "row-major", "channels-last", "blocked-16"; empty for any other layout and for absent operands. Layouts that are the
// same in memory have the first of these names.
std::string layoutText(const TensorDesc& desc);

// The dense layout of that name; nothing when the name is unknown or no tensor of these dims can have it. Never trusts
// its input.
std::optional<TensorDesc> descInLayout(const std::string& text, DType dtype, const Dims& dims);

// A blocked tensor whose spatial sizes are all 1 and whose channels fill their blocks is row-major already: that
// description where it holds, else the given one.
TensorDesc plainest(const TensorDesc& desc);

}  // namespace ipex_studio
