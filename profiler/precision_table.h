// The precisions of one job side by side, for the terminal.
#pragma once

#include <string>

#include "core/record/records.h"

namespace ipex_studio {

// One line per run: latency, speed-up against the baseline with its 95 % interval, metrics on the data, size, memory,
// and the shares of the precisions in steps and time. Names from the model are made printable.
std::string precisionTable(const JobRecord& job);

// The assignments that a search tried, fastest first: the Pareto front is marked *, the choice >.
std::string tradeoffTable(const JobRecord& job);

// The operations that a lower precision disturbs most, at most `rows`.
std::string sensitivityTable(const JobRecord& job, std::size_t rows);

}  // namespace ipex_studio
