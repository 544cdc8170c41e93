// Jobs that make recipes for lower precision: calibration over data, and the search for the fastest assignment.
#pragma once

#include <string>
#include <vector>

#include "core/record/tuning_store.h"
#include "studio/job/session_job.h"

namespace ipex_studio {

// A file beside the result that an interrupted job goes on from: the state is in it whole or not at all, and it is gone
// once the job is done.
class StateFile {
 public:
  // `restart`: what is there is not wanted.
  StateFile(std::string path, bool restart);
  // Empty: nothing to go on from. Throws Error(kUsage) when it is unreadably large.
  std::string read() const;
  void write(const std::string& state) const;
  void remove() const;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

struct CalibrationResult {
  std::string recipe;  // text for OptimizeOptions::quantization_recipe
  std::int64_t samples = 0;
  std::int64_t operations = 0;  // that could be INT8
  std::int64_t lowered = 0;     // and will be
};

// Runs the request's data through the model. Throws Error; the state file then holds what was seen.
CalibrationResult calibrateModel(const CheckedModel& model, const JobRequest& request, const StateFile& state,
                                 JobEvents& events, const Cancellation& cancellation);

struct PrecisionSearchResult {
  Precision precision = Precision::kFp32;  // of the chosen assignment
  std::string recipe;
  std::vector<SensitivityRecord> sensitivities;
  std::vector<TradeoffRecord> tradeoffs;
};

// The assignments that a search's state holds, in no order; empty when it is none.
std::vector<TradeoffRecord> triedSoFar(const std::string& state);

// `tuning` gets what was measured to choose kernels, so that the model of the choice has those that it was judged with. Throws
// Error; the state file then holds what was tried.
PrecisionSearchResult searchPrecisions(const CheckedModel& model, const JobRequest& request, const StateFile& state,
                                       MemoryTuningStore& tuning, JobEvents& events, const Cancellation& cancellation);

// The text of a recipe or an int8_conf.json, checked for size and for being JSON; also of the recipes "dynamic" and
// "weight-only", which need no file. Throws Error(kUsage).
std::string readRecipeText(const std::string& path, const WeightForm& form = {});

// The text of a preprocessing. Throws Error(kUsage).
std::string readPreprocessText(const std::string& path);

}  // namespace ipex_studio
