// Names of dense layouts, as tuning records and compiled exports keep them.
#pragma once

#include <optional>
#include <string>

#include "core/op/tensor_view.h"

namespace ipex_studio {

// Returns "row-major", "channels-last" or "blocked-16"; empty for any other layout and for absent operands. Of layouts
// that are the same in memory, the first of these names is used.
std::string layoutText(const TensorDesc& desc);

// Returns the dense layout of that name; nothing if the name is unknown or no tensor of these dims can have it. Never
// trusts its input.
std::optional<TensorDesc> descInLayout(const std::string& text, DType dtype, const Dims& dims);

// Returns the row-major description of a blocked tensor whose spatial sizes are all 1 and whose channels fill their
// blocks, since both are the same in memory; any other description as it is.
TensorDesc plainest(const TensorDesc& desc);

}  // namespace ipex_studio
