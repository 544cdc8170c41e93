// Reads and writes of a job in the database. A database that cannot be used never stops a job: the result is printed
// and exported all the same, and the problem is reported at the end.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/record/records.h"
#include "core/record/tuning_store.h"
#include "profiler/database.h"

namespace ipex_studio {

class ModelJob;  // studio/job/session_job.h

class JobDatabase {
 public:
  // Opens `path`, or the default database if `path` is empty. Never throws; problem() tells what is wrong with the
  // file.
  explicit JobDatabase(const std::string& path);

  // The values of --input that were used for this model before; empty if there are none.
  std::vector<std::string> rememberedInputs(const std::string& sha256);
  // Tuning records of machines like this one, as text for OptimizeOptions::tuning_record; empty if there are none.
  std::string rememberedTuning();
  void recordTuning(const MemoryTuningStore& tuning);
  // Writes the job, and its inputs if `remember_inputs`. Returns the job's number; nullopt if the database failed.
  std::optional<std::int64_t> record(const JobRecord& job, bool remember_inputs);
  // Writes the record of the job and the source of its model.
  std::optional<std::int64_t> record(const ModelJob& job, bool remember_inputs);
  // Keeps what passes gain in a job that was recorded as `job`.
  void recordPassGains(std::int64_t job, const std::vector<PassGain>& gains);
  // Keeps the curves of a job that was recorded as `job`.
  void recordCurves(std::int64_t job, const CurvesRecord& curves);
  // The last problem with the database; nullopt if there was none.
  const std::optional<Error>& problem() const { return problem_; }
  Database* database() { return database_ ? &*database_ : nullptr; }

 private:
  std::optional<Database> database_;
  std::optional<Error> problem_;
};

}  // namespace ipex_studio
