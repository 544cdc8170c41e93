// Jobs that make recipes for lower precision: calibration over data, and the search for the fastest assignment.
#pragma once

#include <string>
#include <vector>

#include "core/record/tuning_store.h"
#include "studio/job/session_job.h"

namespace ipex_studio {

// The file that an interrupted job resumes from. It holds a whole state or none, and is removed once the job is done.
class StateFile {
 public:
  // A state in `path`. `restart`: removes the state of an earlier job.
  StateFile(std::string path, bool restart);
  // The state; empty if there is none. Throws Error(kUsage) if it is too large.
  std::string read() const;
  void write(const std::string& state) const;
  void remove() const;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

struct CalibrationResult {
  std::string recipe;  // value of OptimizeOptions::quantization_recipe
  std::int64_t samples = 0;
  std::int64_t operations = 0;  // operations that could be INT8
  std::int64_t lowered = 0;     // operations that will be INT8
};

// Runs the request's data through the model. Throws Error; the state file then holds the samples seen so far.
CalibrationResult calibrateModel(const CheckedModel& model, const JobRequest& request, const StateFile& state,
                                 JobEvents& events, const Cancellation& cancellation);

struct PrecisionSearchResult {
  Precision precision = Precision::kFp32;  // precision of the model in the chosen assignment
  std::string recipe;
  std::vector<SensitivityRecord> sensitivities;
  std::vector<TradeoffRecord> tradeoffs;
};

// The assignments in the state of a search, in no particular order; empty for any other text.
std::vector<TradeoffRecord> triedSoFar(const std::string& state);

// Searches the fastest assignment of precisions within the request's budget. `tuning` receives the kernels' times, so
// that the chosen model has the kernels it was judged with. Throws Error; the state file then holds the trials so
// far.
PrecisionSearchResult searchPrecisions(const CheckedModel& model, const JobRequest& request, const StateFile& state,
                                       MemoryTuningStore& tuning, JobEvents& events, const Cancellation& cancellation);

// Text of a recipe or an int8_conf.json, checked for size and for being JSON; also of the recipes "dynamic" and
// "weight-only", which need no file. Throws Error(kUsage).
std::string readRecipeText(const std::string& path, const WeightForm& form = {});

// Text of a preprocessing file. Throws Error(kUsage).
std::string readPreprocessText(const std::string& path);

// Operators of a file of --only-ops, sorted. Throws Error(kUsage).
std::vector<std::string> readOnlyOps(const std::string& path);

}  // namespace ipex_studio
