// Concatenation without copying, and the places of its sources in its result. Private to core/plan.
#pragma once

#include <cstdint>
#include <vector>

#include "core/op/op_spec.h"
#include "core/op/tensor_view.h"
#include "core/plan/plan_layouts.h"

namespace ipex_studio {

struct ConcatSlice {
  TensorDesc desc;          // the source's sizes, the whole's strides
  std::int64_t offset = 0;  // bytes
};

// Empty where two sources share a channel block. Specs are checked before: sources fit each other and `whole`.
std::vector<ConcatSlice> concatSlices(const OpSpec& op, const TensorDesc& whole, const std::vector<TensorDesc>& src);

// True if every source can be written into its slice as it is, so that the concatenation costs nothing.
bool fillSlices(const OpSpec& op, const TensorDesc& whole, const std::vector<TensorDesc>& src);

// Makes the result out of its sources' buffers, where that saves a copy; false, and nothing changed, where it does not.
// `prepared`: the concatenation as the chosen kernel would do it.
bool placeInSlices(const PreparedOp& prepared, const SizedOp& concat, PlanValues& values, PlanLayouts& layouts);

}  // namespace ipex_studio
