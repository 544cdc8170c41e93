// Loops whose body is one region: `ipex_studio::region_loop(region, form, rounds, tensors, sizes)` runs all rounds.
#pragma once

#include <vector>

#include "kernels/torch/plans/region.h"

namespace ipex_studio {

// Returns the carried values after the last round, then what is joined. Once the sizes stay as they are, rounds run by
// one plan on memory that is taken once: what a round carries is handed to the next where it lies, and what is joined
// is written to its place. Else each round is a run of the region. `numbers`: a LoopForm; `tensors`: as it says,
// without those that are made here; `integers`: the region's, in every round, then the sizes of those. Inputs are
// never written to. Throws what the rounds throw, and Error(kBadModel) where the form does not fit.
std::vector<at::Tensor> runRegionLoop(Region& body, at::IntArrayRef numbers, std::int64_t rounds,
                                      c10::ArrayRef<const at::Tensor*> tensors, at::IntArrayRef integers);

}  // namespace ipex_studio
