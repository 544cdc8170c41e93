// What panels ask the session to do: tagged values, collected while a frame is drawn and handed over after it.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "core/plan/options.h"

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

using Command = std::variant<OpenCommand, OptimizeCommand, CancelCommand, ExportCommand>;

// Filled by panels on the drawing thread, emptied by the window after each frame.
class Commands {
 public:
  void post(Command command);
  std::vector<Command> take();

 private:
  std::vector<Command> queue_;
};

}  // namespace ipex_studio
