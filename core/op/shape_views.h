// Shapes and strides of view operations (reshape, permute, slice, select, expand, squeeze, unsqueeze).
#pragma once

#include "core/op/shape_inference.h"

namespace ipex_studio {

// Destination dims of a view kind. Never trusts its input.
Verdict viewDims(const OpSpec& spec, const Dims& x, Dims* y);

}  // namespace ipex_studio
