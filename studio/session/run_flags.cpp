// Flags typed in the window: parsed by the same tree as the command line, so that the window can do whatever that can.
#include <fmt/format.h>

#include "studio/flags/command_line.h"
#include "studio/flags/job_request.h"
#include "studio/job/session_request.h"
#include "studio/session/session.h"

namespace ipex_studio {
namespace {

struct RunFlags {
  CommandLine line;
  bool precision = false;  // which were given
  bool threads = false;
  bool tune = false;
};

// Parses the words that would follow "run MODEL". Throws Error(kUsage).
RunFlags parseRunFlags(const std::string& words) {
  RunFlags flags;
  CommandLine& line = flags.line;
  try {
    const auto app = makeApp(line);
    app->parse("run model.pt " + words, false);
    const CLI::App* run = app->get_subcommand("run");
    flags.precision = run->count("--precision") > 0;
    flags.threads = run->count("--threads") > 0;
    flags.tune = run->count("--tune") > 0;
  } catch (const CLI::Success&) {
    throw Error(ExitCode::kUsage, "Help is printed by ipex-studio run --help, in a terminal.");
  } catch (const CLI::ParseError& error) {
    throw Error(ExitCode::kUsage, fmt::format("These flags cannot be used: {}", error.what()));
  }
  const bool elsewhere = !line.output.empty() || !line.database.empty() || !line.worker.empty() || line.json;
  if (line.kind != CommandKind::kRun || line.model != "model.pt" || elsewhere) {
    throw Error(ExitCode::kUsage, "Files, databases and workers are not chosen here; Export… writes a file.");
  }
  return flags;
}

}  // namespace

// Settings that no flag names stay as they were.
void Session::takeFlags(const std::string& words) {
  const JobState before = parts_.status.state;
  bool prepared = false;
  try {
    if (!model_) throw Error(ExitCode::kUsage, "Open a model first; recorded runs cannot be run again.");
    const JobRequest& was = options_.request;
    const RunFlags flags = parseRunFlags(words);
    JobRequest request = jobRequest(flags.line, "studio");
    if (request.inputs.empty()) request.inputs = was.inputs;
    if (request.inputs_path.empty()) request.inputs_path = was.inputs_path;
    if (request.data.path.empty()) request.data = was.data;
    if (request.optimize.quantization_recipe.empty())
      request.optimize.quantization_recipe = was.optimize.quantization_recipe;
    if (!flags.precision) request.optimize.precision = was.optimize.precision;
    if (!flags.threads) request.measure.threads = was.measure.threads;
    if (!flags.tune) request.optimize.tune = was.optimize.tune;
    request.use_landlock = was.use_landlock;
    request.remote = was.remote;
    request.abilities = was.abilities;
    checkRequest(request);
    prepared = flags.line.prepared;
    options_.request = std::move(request);
  } catch (const Error& error) {
    // A word that is wrong costs nothing but another try.
    log(LogLevel::kError, error.what());
    setState(before, error.what());
    return;
  }
  parts_.work.flags = words;
  parts_.work.prepared = prepared;
  log(LogLevel::kInfo, words.empty() ? "No further flags." : fmt::format("Flags: {}", words));
  startJob();
}

}  // namespace ipex_studio
