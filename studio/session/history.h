// Facts from the database of recorded runs beside the shown job: the list of runs, runs side by side, and times of
// kernels.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/record/records.h"
#include "profiler/comparison.h"
#include "profiler/database.h"
#include "studio/snapshot/snapshot.h"

namespace ipex_studio {

// Used by the working thread alone; the values that it returns are shared with snapshots and never change. Functions
// that read the database throw Error.
class History {
 public:
  // Reads everything anew, and compares the runs of the shown job. `job`: its number there; 0 if it is not there.
  void read(const Database& database, std::int64_t job);
  // Reads the database at `path` (empty: the default one) if there is one.
  void readIfThere(const std::string& path);
  // Reads the list of jobs anew; what is compared stays.
  void refresh(const Database& database);
  // Sets recorded runs side by side, the first as the measure; fewer than two: none.
  void compare(const std::vector<std::int64_t>& runs);
  // Sets the last runs of two jobs side by side, `tried` measured against `previous`.
  void compareTry(const JobRecord& previous, const JobRecord& tried);
  // Judges the two runs that stand side by side by the rounds that both runs of `what_if` took together.
  void judgeBy(const JobRecord& what_if);

  // Path of the database that read() was given last; empty: none.
  const std::string& path() const { return path_; }
  // Fields of StudioSnapshot of these names (runs: `history`); null if there is nothing.
  const std::shared_ptr<const RunHistory>& runs() const { return runs_; }
  const std::shared_ptr<const RunSet>& comparison() const { return comparison_; }
  const std::shared_ptr<const RunSet>& precisions() const { return precisions_; }
  const std::shared_ptr<const std::vector<TuningEntry>>& tunings() const { return tunings_; }

 private:
  void list(const Database& database, std::int64_t job);
  void compareShown(const Database& database, const RunHistory& history);

  std::string path_;
  std::shared_ptr<const RunHistory> runs_;
  std::shared_ptr<const RunSet> comparison_;
  std::shared_ptr<const RunSet> precisions_;
  std::shared_ptr<const std::vector<TuningEntry>> tunings_;
};

}  // namespace ipex_studio
