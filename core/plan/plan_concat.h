// Places of a concatenation's sources in its result. Private to core/plan.
#pragma once

#include <cstdint>
#include <vector>

#include "core/op/op_spec.h"
#include "core/op/tensor_view.h"

namespace ipex_studio {

struct ConcatSlice {
  TensorDesc desc;          // the source's sizes, the whole's strides
  std::int64_t offset = 0;  // bytes
};

// Empty where two sources share a channel block. Specs are checked before: sources fit each other and `whole`.
std::vector<ConcatSlice> concatSlices(const OpSpec& op, const TensorDesc& whole, const std::vector<TensorDesc>& src);

// Could every source be written into its slice as it is? Then the concatenation costs nothing.
bool fillSlices(const OpSpec& op, const TensorDesc& whole, const std::vector<TensorDesc>& src);

}  // namespace ipex_studio
