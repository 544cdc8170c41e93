// Proof that a spec treats the samples of a batch apart: then a plan for a larger batch serves a smaller one.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/plan/plan.h"

namespace ipex_studio {

// Axis 0 of a tensor holds `rows` successive rows of each sample, in the samples' order; 0 if the tensor does not
// depend on the samples.
struct BatchIndependence {
  std::vector<std::int64_t> outputs;  // rows per sample of each output of the spec
  std::string why_not;                // empty: proven
};

// The request with `samples` samples: axis 0 of each tensor input that `is_batch` names, its outermost, has so many rows.
PlanRequest withSamples(PlanRequest request, const std::vector<bool>& is_batch, std::int64_t samples);

// Would the plan for `padded` > `samples` samples give, in its first rows, what the plan for `request` gives, whatever
// stands in the further rows of its inputs? `is_batch`: inputs of `request` whose axis 0 counts `samples` samples. Every
// operation is looked at with both sizes; what is not known to keep samples apart is refused with its reason.
BatchIndependence proveBatchIndependence(const PlanSpec& spec, const PlanRequest& request,
                                         const std::vector<bool>& is_batch, std::int64_t samples, std::int64_t padded);

// The batch of `request` (axis 0 of its first tensor input, and of all inputs with as many rows) computed `samples` at a time.
// Null if the batch is not larger, or if micro-batches are not proven to give the results of the whole batch.
std::shared_ptr<const MicroBatches> proveMicroBatches(const PlanSpec& spec, const PlanRequest& request,
                                                      std::int64_t samples);

// Samples of that batch; 0: the first tensor input has no rows, or there is none.
std::int64_t batchOf(const PlanRequest& request);

}  // namespace ipex_studio
