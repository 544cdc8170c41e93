// One JobRecord to rows and back. Private to profiler/.
#pragma once

#include <cstdint>

#include "core/record/records.h"
#include "profiler/database.h"

namespace ipex_studio {

// Inserts a job; must run inside a transaction. Returns job.id.
std::int64_t insertJob(Connection& connection, const JobRecord& job);

// Checks its rows like records from the engine, since the file may come from anywhere.
// `only_run`: steps and times of other runs are left out; 0: none.
JobRecord selectJob(Connection& connection, std::int64_t id, JobParts parts, std::int64_t only_run = 0);

}  // namespace ipex_studio
