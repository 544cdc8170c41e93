// State around a job that is in no record: the open file, and what is asked, exported and tuned.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/record/options.h"
#include "core/record/records.h"

namespace ipex_studio {

// A model that can do more than compute waits for an answer.
struct TrustQuestion {
  std::vector<std::string> findings;  // sentences; empty: nothing is asked
  bool sandbox_is_whole = true;       // false: this kernel has no Landlock
  bool asked() const { return !findings.empty(); }
};

struct ExportResult {
  enum class State { kNone, kWriting, kVerifying, kDone, kFailed };
  State state = State::kNone;
  std::string path;
  ExportForm form = ExportForm::kCompiled;
  std::int64_t bytes = 0;
  std::int64_t prepared_bytes = 0;         // of the weights beside it; 0: none
  std::optional<AccuracyRecord> accuracy;  // of the file's results against the original's
  std::string problem;                     // one sentence
};

struct TuningState {
  bool possible = false;           // a model is open
  std::string recipe;              // where the recipe for INT8 comes from, as a sentence; empty: there is none
  bool calibration_waits = false;  // was interrupted and can go on
  bool search_waits = false;
};

struct WorkState {
  std::string file;            // as it was opened; empty: nothing is open
  bool remote = false;         // another machine runs it; data lie there
  std::string recorded_at;     // of recorded runs: when; empty otherwise
  std::string recorded_model;  // their model, where it lies on this machine still; empty: it does not
  TrustQuestion trust;
  ExportResult exported;
  TuningState tuning;
  std::string flags;      // of the command line, that were typed in the window
  bool prepared = false;  // --prepared was among them: exports begin with it
};

}  // namespace ipex_studio
