// A job's reads from and writes to the database. A database that cannot be used never stops a job: its result is
// printed and exported all the same, and the problem is reported at the end.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/record/records.h"
#include "core/record/tuning_store.h"
#include "profiler/database.h"

namespace ipex_studio {

class JobDatabase {
 public:
  // Opens `path`, or the default database when it is empty. Does not throw for what is wrong with the file.
  explicit JobDatabase(const std::string& path);

  // Texts of --input as they were used for this model before; empty: none.
  std::vector<std::string> rememberedInputs(const std::string& sha256);
  // Tuning records of machines like this one, as text for OptimizeOptions::tuning_record; empty if there are none.
  std::string rememberedTuning();
  void recordTuning(const MemoryTuningStore& tuning);
  // Writes the job and remembers its inputs. The number of the job; nothing when the database failed.
  std::optional<std::int64_t> record(const JobRecord& job, bool remember_inputs);
  // The first problem with the database, if there was any.
  const std::optional<Error>& problem() const { return problem_; }
  Database* database() { return database_ ? &*database_ : nullptr; }

 private:
  std::optional<Database> database_;
  std::optional<Error> problem_;
};

}  // namespace ipex_studio
