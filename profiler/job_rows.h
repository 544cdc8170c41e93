// A JobRecord as rows and back. Private to profiler/.
#pragma once

#include <cstdint>

#include "core/record/records.h"
#include "profiler/database.h"

namespace ipex_studio {

constexpr std::int64_t kNoiseSchemaVersion = 7;             // from which on runs know whether the machine was quiet
constexpr std::int64_t kTrainingSchemaVersion = 8;          // from which on there are trainings
constexpr std::int64_t kSourceSchemaVersion = 9;            // from which on models have their source
constexpr std::int64_t kPassGainSchemaVersion = 10;         // from which on it is known what passes gain
constexpr std::int64_t kMarkSchemaVersion = 11;             // from which on models and jobs have names and pins
constexpr std::int64_t kCurvesSchemaVersion = 13;           // from which on models have curves
constexpr std::int64_t kTrainingProfileSchemaVersion = 14;  // from which on trainings have layers and memory

// Inserts a job; must run inside a transaction. Returns job.id.
std::int64_t insertJob(Connection& connection, const JobRecord& job);

// Reads a job and checks its rows like records from the engine, since the file may come from anywhere. `only_run`:
// leaves out steps and times of other runs; 0: none.
JobRecord selectJob(Connection& connection, std::int64_t id, JobParts parts, std::int64_t only_run = 0);

}  // namespace ipex_studio
