// Proof that a spec treats the samples of a batch independently: then a plan for a larger batch serves a smaller one.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/plan/plan.h"

namespace ipex_studio {

// The verdict, and where the outputs hold the samples: axis 0 of a tensor holds `rows` successive rows of each sample,
// in the samples' order; 0 rows if the tensor does not depend on the samples.
struct BatchIndependence {
  std::vector<std::int64_t> outputs;  // rows per sample of each output of the spec
  std::string why_not;                // empty: proven
};

// The request for `samples` samples: the axis (0, the outermost) of each tensor input that `is_batch` marks gets that
// size.
PlanRequest withSamples(PlanRequest request, const std::vector<bool>& is_batch, std::int64_t samples, int axis = 0);

// Proves that the plan for `padded` > `samples` samples gives, in its first rows, what the plan for `request` gives,
// whatever the further rows of its inputs hold. `is_batch`: true for inputs of `request` whose axis 0 counts `samples`
// samples. Compares every operation at both sizes; an operation that is not known to keep samples apart is refused,
// with a reason.
BatchIndependence proveBatchIndependence(const PlanSpec& spec, const PlanRequest& request,
                                         const std::vector<bool>& is_batch, std::int64_t samples, std::int64_t padded);

// The same for the positions of sequences, which `is_sequence` counts along axis 1: each of the first `length`
// positions depends on none of the further ones. It may depend on those before it, as in causal attention.
BatchIndependence provePositionIndependence(const PlanSpec& spec, const PlanRequest& request,
                                            const std::vector<bool>& is_sequence, std::int64_t length,
                                            std::int64_t padded);

// Micro-batches of `samples` samples for the batch of `request`: axis 0 of its first tensor input, and of all inputs
// with as many rows. Null if the batch is not larger, or if micro-batches are not proven to give the results of the
// whole batch.
std::shared_ptr<const MicroBatches> proveMicroBatches(const PlanSpec& spec, const PlanRequest& request,
                                                      std::int64_t samples);

// The number of samples in the batch of `request`; 0 if its first tensor input has no axes, or there is none.
std::int64_t batchOf(const PlanRequest& request);

}  // namespace ipex_studio
