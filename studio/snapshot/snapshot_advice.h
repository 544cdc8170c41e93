// "What to do next": sentences with a number and a link, derived from the records.
#pragma once

#include <vector>

#include "studio/snapshot/snapshot_index.h"

namespace ipex_studio {

// Derives at most eight sentences, the most worthwhile first. `index` has everything but the advice.
std::vector<Advice> makeAdvice(const JobRecord& job, const JobIndex& index);

// The advice to follow first: that with the largest measured gain, else the first with an offer; null if there is none.
const Advice* recommendedAdvice(const std::vector<Advice>& advice);

}  // namespace ipex_studio
