// Trials on the open model in this session and earlier ones: decisions with their verdicts, and the newest search for
// precisions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/record/records.h"
#include "profiler/database.h"
#include "studio/snapshot/overrides.h"

namespace ipex_studio {

// A search that an earlier job made.
struct EarlierSearch {
  std::string options;  // JobRecord::options; empty: there was none
  std::int64_t started_unix_ns = 0;
};

// Used by the working thread alone.
class Trials {
 public:
  // Reads what the database knows of the job's model under the conditions of its last run, in place of all trials here.
  // `base`: see overridesFrom(). Nullopt, and no change, if the conditions are those of the last call.
  std::optional<EarlierSearch> read(const Database& database, const JobRecord& job, const std::string& base);
  // Makes the next read() read whatever the conditions are: the database has a new search.
  void expire() { conditions_.clear(); }
  void clear() { *this = Trials(); }

  // Adds a trial. `what_if`: has both runs, the older first. `decisions`: in force in the second.
  void add(const JobRecord& what_if, const Overrides& decisions);
  // All trials by hand; the newest is last.
  const std::vector<WhatIf>& tries() const { return tries_; }
  // Adds the findings of the search to a record that has none of its own.
  void addSearch(JobRecord* job) const;

 private:
  std::vector<WhatIf> tries_;
  std::vector<SensitivityRecord> sensitivities_;  // of the newest search
  std::vector<TradeoffRecord> tradeoffs_;
  std::string conditions_;  // model, machine, threads and precision of the last read(); empty: nothing was read
};

}  // namespace ipex_studio
