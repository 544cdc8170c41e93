// Rows of the tables `run_metric`, `sensitivity`, `tradeoff` and `decision`.
#pragma once

#include <cstdint>

#include "core/record/records.h"
#include "profiler/sqlite.h"

namespace ipex_studio {

// The version of the schema that has these tables and run.export_bytes.
constexpr std::int64_t kPrecisionSchemaVersion = 3;
// The version that has `decision` and tradeoff.assignment.
constexpr std::int64_t kDecisionSchemaVersion = 4;

// Insert inside the caller's transaction.
void insertMetrics(Connection& connection, std::int64_t run_id, const RunRecord& run);
void insertSearch(Connection& connection, std::int64_t job_id, const JobRecord& job);
void insertDecisions(Connection& connection, std::int64_t job_id, const JobRecord& job);

// Select into the record; leave it as it is if the file is of an older version.
void selectMetrics(Connection& connection, std::int64_t run_id, RunRecord& run);
void selectSearch(Connection& connection, std::int64_t job_id, JobRecord& job);
void selectDecisions(Connection& connection, std::int64_t job_id, JobRecord& job);

}  // namespace ipex_studio
