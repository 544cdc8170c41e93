// Destination dims and dtypes of an OpSpec from its sources', and full validation of the spec against them.
#pragma once

#include <vector>

#include "core/op/kernel.h"

namespace ipex_studio {

// Returns row-major descs, one per destination. Views keep the source's strides where a view exists (see viewOf).
// On any contradiction (rank, missing attribute, sizes that do not fit, product over 2^40 elements) returns a Verdict
// with the reason and leaves *dst empty. Never trusts its input.
Verdict inferShapes(const OpSpec& spec, const std::vector<TensorDesc>& src, std::vector<TensorDesc>* dst);

// For view kinds: the same memory seen with the destination's dims, plus an offset in elements. Returns false if a copy
// is needed: a reshape across strides, anything but a slice between blocks on a channel-blocked source.
bool viewOf(const OpSpec& spec, const TensorDesc& src, const TensorDesc& dst_dims, TensorDesc* view,
            std::int64_t* offset_elements);

}  // namespace ipex_studio
