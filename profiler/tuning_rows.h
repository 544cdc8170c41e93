// Rows of the tables `tuning` and `tuning_candidate`.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/record/tuning_store.h"
#include "profiler/sqlite.h"

namespace ipex_studio {

// The version of the schema that has these tables.
constexpr std::int64_t kTuningSchemaVersion = 2;

using Tunings = std::vector<std::pair<TuningKey, TuningEntry>>;

// Writes inside the caller's transaction. `replace`: entries of the same key and spec are replaced; otherwise they
// stay.
void writeTunings(Connection& connection, const Tunings& entries, bool replace);

// Returns the newest `limit` entries, the oldest of them first; an empty device or ISA stands for all.
Tunings readTunings(Connection& connection, const std::string& device, const std::string& isa, std::int64_t limit);

}  // namespace ipex_studio
