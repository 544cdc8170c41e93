// State around a job that no record holds: the open file, the question of trust, exports and tuning.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/record/argument_record.h"
#include "core/record/options.h"
#include "core/record/pass_gain_record.h"
#include "core/record/records.h"

namespace ipex_studio {

struct BisectRecord;  // core/record/bisect_record.h
struct CurvesRecord;  // core/record/curves_record.h
struct ValueRecord;   // core/record/value_record.h

// The question how far a model that can do more than compute is to be trusted.
struct TrustQuestion {
  std::vector<std::string> findings;  // dangerous findings as sentences; empty: nothing is asked
  bool sandbox_is_whole = true;       // false: this kernel has no Landlock
  bool asked() const { return !findings.empty(); }
};

struct ExportResult {
  // kAsked: a file of that name exists; the user has to say whether it may be replaced.
  enum class State { kNone, kWriting, kVerifying, kDone, kFailed, kAsked };
  State state = State::kNone;
  std::string path;
  ExportForm form = ExportForm::kCompiled;
  std::int64_t bytes = 0;
  std::int64_t prepared_bytes = 0;             // size of the weights beside the file; 0: there are none
  std::optional<AccuracyRecord> accuracy;      // comparison of the file's results with the original's
  std::string problem;                         // why the export failed, as a sentence; empty otherwise
  std::int64_t load_ns = 0, first_run_ns = 0;  // of the file as another program loads and runs it; 0: not measured
  std::string library{};                       // operator library that a compiled file needs; empty: not found
};

// The answer to FirstWrongNodeCommand.
struct FirstWrongNodeState {
  std::shared_ptr<const BisectRecord> found;  // null: nobody asked
  // "The first wrong node is layer1.conv (aten::conv2d): 0.53 instead of 0.12 at [0, 3], because of fuse-activation#7."
  std::string sentence;
};

struct TuningState {
  bool possible = false;           // true: a model is open
  std::string recipe;              // origin of the recipe for INT8, as a sentence; empty: there is none
  bool calibration_waits = false;  // true: it was interrupted and can go on
  bool search_waits = false;
};

struct PassGains {
  std::int64_t of_job = 0;  // JobRecord::started_unix_ns of the job that they belong to
  std::vector<PassGain> gains;
};

// A flag that differs from its default.
struct FlagShown {
  std::string name;   // "--instances"
  std::string words;  // "--instances 2"
};

// Arguments of the open model's forward, and what is wrong with the values for them.
struct InputsState {
  std::vector<ArgumentRecord> arguments;  // empty: not known yet
  std::string problem;      // why the model could not be run with its inputs, as a sentence; empty: it could
  std::uint64_t asked = 0;  // rises each time the user has to say other inputs
  // Values of --input of a measured point that the next run takes; empty: none were taken over.
  std::vector<std::string> taken;
};

// The last answer to a FlagsCommand.
struct FlagsAnswer {
  std::uint64_t number = 0;  // rises with each answer
  std::string problem;       // why the flags were refused, as a sentence; empty: they are in force
};

struct WorkState {
  std::string file;            // path as it was opened, also if it cannot be read; empty: nothing is open
  bool remote = false;         // true: another machine runs the model and holds its data
  std::string recorded_at;     // date of the recorded runs that are open; empty otherwise
  std::string recorded_model;  // path of the recorded runs' model; empty if this machine does not have it
  TrustQuestion trust;
  InputsState inputs;
  ExportResult exported;
  TuningState tuning;
  FirstWrongNodeState first_wrong;
  PassGains pass_gains;
  std::shared_ptr<const ValueRecord> values;   // the answer to ValuesCommand; null: nobody asked
  std::shared_ptr<const CurvesRecord> curves;  // of the model, also while they are measured; null: there are none
  std::string flags;                           // flags of the command line in force, as words that give them again
  std::vector<FlagShown> flags_in_force;       // one by one
  FlagsAnswer flags_answer;
  bool measures_at_once = false;  // true: models are optimized when they are opened
  bool prepared = false;          // true: --prepared is among the flags, so the export dialog begins with it
};

}  // namespace ipex_studio
