// Concatenations that are built in place, without a copy of their sources. Private to core/plan.
#pragma once

#include <cstdint>
#include <vector>

#include "core/op/op_spec.h"
#include "core/op/tensor_view.h"
#include "core/plan/plan_layouts.h"

namespace ipex_studio {

// The part of a concatenation's result that one source fills.
struct ConcatSlice {
  TensorDesc desc;          // the source's sizes, the whole's strides
  std::int64_t offset = 0;  // bytes
};

// The slice of each source; empty where two sources share a channel block. Sources must fit each other and `whole`.
std::vector<ConcatSlice> concatSlices(const OpSpec& op, const TensorDesc& whole, const std::vector<TensorDesc>& src);

// True if the sources already have the layouts of their slices, so that the concatenation can cost nothing.
bool fillSlices(const OpSpec& op, const TensorDesc& whole, const std::vector<TensorDesc>& src);

// Makes the result out of its sources' buffers where that saves a copy; false, with nothing changed, where it does not.
// `prepared`: the concatenation as the chosen kernel would do it.
bool placeInSlices(const PreparedOp& prepared, const SizedOp& concat, PlanValues& values, PlanLayouts& layouts);

}  // namespace ipex_studio
