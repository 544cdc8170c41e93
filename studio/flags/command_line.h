// The command line of ipex-studio: every command and flag with its meaning. Names here are fixed; scripts rely on them.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/record/request.h"

namespace ipex_studio {

enum class CommandKind {
  kStudio,
  kRun,
  kBench,
  kShow,
  kPasses,
  kDevices,
  kInspect,
  kVerify,
  kCheck,
  kBisect,
  kCurves,
  kValues,
  kGenerate,
  kCalibrate,
  kQuantize,
  kConvert,
  kTune,
  kTrain,
  kCompare,
  kReport,
  kList,
  kImport,
  kKernelTimes,
  kPrune,
  kName,
  kPin,
  kUnpin,
  kForget,
  kCompletion,
  kWorker,
};

// The command line as typed, checked for form alone: a command, its files, and the request.
struct CommandLine : Request {
  CommandKind kind = CommandKind::kStudio;

  std::string model;     // the file to work on: a model, or a database for kStudio
  std::string other;     // kVerify, kCheck, kBisect: the second model; kImport: the database to take from;
                         // kKernelTimes: the file to take from, if any
  std::string database;  // --db; empty: the default one
  std::string output;    // -o
  bool force = false;    // files that exist already are replaced
  bool json = false;

  std::string node;                // kValues
  std::string after, before;       // kShow
  std::string format = "txt";      // kShow
  std::vector<std::int64_t> runs;  // kCompare: two
  std::int64_t job = 0;            // kReport; 0: the newest
  std::int64_t newest = 20;        // kList: number of jobs
  std::string find;                // kList: words that jobs must have; empty: all jobs
  std::string item;                // kName, kPin, kUnpin, kForget: a job or model (profiler/library/library.h)
  std::string name;                // kName; empty: none
  std::int64_t keep_jobs = -1;     // kPrune
  std::int64_t keep_mb = -1;       // kPrune
  std::string shell;               // kCompletion
  std::string junit, markdown;     // kCheck: files to write; empty: none

  std::string worker;      // --worker
  std::string screenshot;  // kStudio
  std::string report;
  std::string script;
  std::string panel;
  bool csv = false;
  std::string size = "1600x1000";
  std::string theme;  // empty: as chosen last
  double scale = 0;   // 0: as the display asks

  // Sets defaults that suit people on the command line; a program that calls the optimizer sets these itself.
  CommandLine() {
    optimize.tune = TuneMode::kQuick;
    calibration.samples = 1000;
  }
};

// Flags and commands, bound to `line`, which must outlive the app. Completions and the reference in the manual page are
// made from the same tree.
std::unique_ptr<CLI::App> makeApp(CommandLine& line);

// Parses the arguments; prints help, the version or what is wrong. Returns an exit code if nothing is left to do.
std::optional<int> parseCommandLine(int argc, char** argv, CommandLine& line);

}  // namespace ipex_studio
