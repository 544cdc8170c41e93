// What panels ask the session to do: tagged values, collected while a frame is drawn and handed over after it.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "core/plan/options.h"
#include "studio/overrides.h"

namespace ipex_studio {

// Open a model (.pt) or a database of recorded runs (.db).
struct OpenCommand {
  std::string path;
};

// Optimize, verify and measure the open model with these choices.
struct OptimizeCommand {
  Precision precision = Precision::kFp32;
  std::int32_t threads = 0;         // 0: all usable cores
  std::vector<std::string> inputs;  // texts of --input; empty: as given or guessed before
};

// End the running job; what was recorded is kept.
struct CancelCommand {};

// Write the optimized model to `path`.
struct ExportCommand {
  std::string path;
  ExportForm form = ExportForm::kCompiled;
};

// Write what a panel shows to `path`; its end says how: .csv or .json.
struct SaveTableCommand {
  std::string panel;
  std::string path;
};

// Show another recorded job of the database.
struct ShowJobCommand {
  std::int64_t job = 0;
};

// Set recorded runs side by side, the first as the measure; fewer than two: nothing is compared any more.
struct CompareCommand {
  std::vector<std::int64_t> runs;
};

// Decide against the optimizer; `measure`: at once against what was decided before, both in turns.
struct OverrideCommand {
  Overrides next;
  bool measure = false;
};

// Take the last decision back, or make it again.
struct StepOverridesCommand {
  bool redo = false;
};

using Command = std::variant<OpenCommand, OptimizeCommand, CancelCommand, ExportCommand, SaveTableCommand, ShowJobCommand,
                             CompareCommand, OverrideCommand, StepOverridesCommand>;

// Filled by panels on the drawing thread, emptied by the window after each frame.
class Commands {
 public:
  void post(Command command);
  std::vector<Command> take();

 private:
  std::vector<Command> queue_;
};

}  // namespace ipex_studio
