// Commands of panels to the session: tagged values, collected while a frame is drawn and handed over after it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/record/curves_record.h"
#include "core/record/records.h"
#include "core/record/request.h"
#include "profiler/database.h"
#include "studio/snapshot/overrides.h"

namespace ipex_studio {

struct PanelTable;
struct StudioSnapshot;

// Open a model (.pt) or a database of recorded runs (.db).
struct OpenCommand {
  std::string path;
};

// Make a small model, and open it: for those who have none at hand.
struct OpenSampleCommand {};

// Optimize models as soon as they are opened, or show their graph alone; for those that are opened from now on.
struct MeasureAtOnceCommand {
  bool on = false;
};

// Name, pin or forget a model or a job of the database.
struct LibraryCommand {
  enum class Action { kName, kPin, kUnpin, kForget };
  Action action = Action::kName;
  LibraryItem item;
  std::string name;  // for kName; empty: none
};

// Optimize, verify and measure the open model with these choices.
struct OptimizeCommand {
  Precision precision = Precision::kFp32;
  std::int32_t threads = 0;         // number of threads; 0: all usable cores
  std::vector<std::string> inputs;  // values of --input; empty: as given or guessed before
};

// End the running job; its records are kept.
struct CancelCommand {};

// Answer to the question how to run a model that can touch files or run code of others.
enum class TrustAnswer { kSandbox, kTrust, kRefuse };
struct TrustCommand {
  TrustAnswer answer = TrustAnswer::kRefuse;
};

// Write the optimized model to `path` and compare the file's results with the model's. If precision or kernels differ
// from those measured last, the model is optimized and measured with them first.
struct ExportCommand {
  std::string path;
  ExportForm form = ExportForm::kCompiled;
  std::optional<Precision> precision;  // precision to export; nullopt: as measured
  std::optional<bool> tuned;  // true: kernels measured on this machine, false: chosen by rules; nullopt: as measured
  bool prepared = false;      // true: write beside a compiled export its weights as this machine's kernels read them
  bool replace = false;       // true: the user was asked and lets a file that exists already be replaced
};

// Resumes an interrupted job unless the request says to restart.
struct TuneCommand {
  TuneGoal goal = TuneGoal::kCalibrate;
  Request request;  // the fields with a form (core/record/request_fields.h) count
};

// A picture as OpenGL reads it: RGBA, top row first.
struct Picture {
  int width = 0;
  int height = 0;
  std::vector<std::uint8_t> rgba;
};

// A panel's table before it is filled, so that the thread that writes the file does the work.
struct TableSource {
  std::string panel;
  void (*fill)(const StudioSnapshot& snapshot, PanelTable* table) = nullptr;  // fills the table; null: there is none
};

// Write the screen to a file; the path's end says how: .png or .html. Where the window made the path up, a free name
// like it is taken.
struct ReportCommand {
  std::string path;
  bool made_up = true;
  TableSource table;                  // of the tab in front, if any
  std::vector<std::string> selected;  // names of what is selected
  std::shared_ptr<const Picture> picture;
};

// Write a panel's table to `path`, or a free name like it; its end says how: .csv or .json.
struct SaveTableCommand {
  TableSource table;
  std::string path;
};

// Show the folder of a file in the desktop's file manager.
struct OpenFolderCommand {
  std::string path;  // of the file
};

// Show another recorded job of the database.
struct ShowJobCommand {
  std::int64_t job = 0;
};

// Set recorded runs side by side, the first as the measure; fewer than two: nothing is compared any more.
struct CompareCommand {
  std::vector<std::int64_t> runs;
};

// Decide against the optimizer; `measure`: measure the decision at once against the one before, by interleaved timing.
struct OverrideCommand {
  Overrides next;
  bool measure = false;
};

// Measure what passes gain, by leaving out one at a time; the model stays as it is.
struct PassGainsCommand {
  std::vector<std::string> passes;
};

// Measure the open model over threads, instances, batch sizes and precisions; what was measured until a CancelCommand
// stays.
struct CurvesCommand {
  CurvesRequest request;
};

// Take the threads, instances, batch size and precision of a measured point for the next runs.
struct UsePointCommand {
  CurvePoint point;
};

// Take the last decision back, or make it again.
struct StepOverridesCommand {
  bool redo = false;
};

// Find the first node at which the model as it is optimized now goes wrong, and what is to blame.
struct FirstWrongNodeCommand {};

// Show what the value of a node holds, in the model and as it is optimized now.
struct ValuesCommand {
  OriginId origin = 0;
};

// Flags of `ipex-studio run` for the open model, which is optimized with them at once; they replace those before.
struct FlagsCommand {
  std::string words;
};

// Set one flag of the command line back to its default; it counts from the next run on.
struct DropFlagCommand {
  std::string name;  // "--instances"
};

using Command =
    std::variant<OpenCommand, OptimizeCommand, CancelCommand, ExportCommand, SaveTableCommand, ShowJobCommand,
                 CompareCommand, OverrideCommand, StepOverridesCommand, TrustCommand, TuneCommand, ReportCommand,
                 FlagsCommand, DropFlagCommand, FirstWrongNodeCommand, OpenFolderCommand, OpenSampleCommand,
                 PassGainsCommand, ValuesCommand, MeasureAtOnceCommand, LibraryCommand, CurvesCommand, UsePointCommand>;

// Filled by panels on the drawing thread, emptied by the window after each frame.
class Commands {
 public:
  void post(Command command);
  std::vector<Command> take();

 private:
  std::vector<Command> queue_;
};

}  // namespace ipex_studio
