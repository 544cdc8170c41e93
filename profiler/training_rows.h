// A training as rows and back. Private to profiler/.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "core/record/records.h"
#include "profiler/database.h"
#include "profiler/sqlite.h"

namespace ipex_studio {

// Does nothing for a job that trained nothing.
void insertTraining(Connection& connection, std::int64_t job_id, const JobRecord& job);
// Null for such a job.
std::shared_ptr<const TrainingRecord> selectTraining(Connection& connection, std::int64_t job_id);
std::optional<TrainingSummary> selectTrainingSummary(Connection& connection, std::int64_t job_id);

}  // namespace ipex_studio
