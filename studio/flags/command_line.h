// The command line of ipex-studio: every command and flag with its meaning. Names here are fixed; scripts rely on them.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/record/options.h"

namespace ipex_studio {

enum class CommandKind {
  kStudio,
  kRun,
  kBench,
  kShow,
  kPasses,
  kInspect,
  kVerify,
  kCalibrate,
  kQuantize,
  kTune,
  kCompare,
  kReport,
  kImport,
  kPrune,
  kCompletion,
  kWorker,
};

// The command line as typed; checked for form alone.
struct CommandLine {
  CommandKind kind = CommandKind::kStudio;

  std::string model;              // the file to work on: a model, or a database for kStudio
  std::string other;              // kVerify: the second model; kImport: the database to take from
  std::string database;           // --db; empty: the default one
  std::string output;             // -o
  std::string form = "compiled";  // --form
  bool prepared = false;          // --prepared

  std::vector<std::string> inputs;     // --input
  std::string inputs_path;             // --inputs
  std::vector<std::string> preserved;  // --preserve
  std::string reset_method;            // --reset
  std::string device = "cpu";
  bool force_precision = false;
  std::string precision = "fp32";
  std::string recipe;            // --recipe
  std::int32_t weight_bits = 8;  // --bits
  std::int64_t group = -1;       // --group; -1: not given
  bool equalize = false;
  double min_cosine = 0;   // 0: the precision's own
  std::string data;        // --data
  std::string preprocess;  // --preprocess
  std::string metric;      // --metric
  std::int64_t samples = 0;
  std::int64_t batch = 1;
  std::string method = "auto";
  double percentile = 99.99;
  std::int64_t calibration_samples = 1000;
  bool restart = false;
  double max_drop = 0.01;  // kTune
  double min_sqnr_db = 30;
  double time_budget_s = 600;
  std::string save_recipe;
  std::vector<std::string> disabled;  // --disable
  std::int64_t limit = -1;
  std::string dump_directory;
  std::string tune = "quick";  // --tune
  bool no_winograd = false;
  std::vector<std::int64_t> batch_buckets;
  MeasureOptions measure;
  bool trust = false;
  double timeout_s = 600;
  bool json = false;

  std::string after, before;       // kShow
  std::string format = "txt";      // kShow
  std::vector<std::int64_t> runs;  // kCompare: two
  std::int64_t job = 0;            // kReport; 0: the newest
  std::int64_t keep_jobs = -1;     // kPrune
  std::int64_t keep_mb = -1;       // kPrune
  std::string shell;               // kCompletion

  std::string worker;      // --worker
  std::string screenshot;  // kStudio
  std::string report;
  std::string script;
  std::string panel;
  bool csv = false;
  std::string size = "1600x1000";
  std::string theme;  // empty: as chosen last
  double scale = 0;   // 0: as the display asks
};

// Flags and commands, bound to `line`, which must outlive the app. Completions and the reference in the manual page are
// made from the same tree.
std::unique_ptr<CLI::App> makeApp(CommandLine& line);

// Parses; prints help, the version or what is wrong. An exit code when there is nothing left to do.
std::optional<int> parseCommandLine(int argc, char** argv, CommandLine& line);

}  // namespace ipex_studio
