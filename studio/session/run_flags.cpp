// See run_flags.h.
#include "studio/session/run_flags.h"

#include <fmt/format.h>

#include "studio/flags/command_line.h"
#include "studio/flags/job_request.h"
#include "studio/job/outputs.h"

namespace ipex_studio {
namespace {

// A command line, and for each of three flags: true if it was given.
struct ParsedFlags {
  CommandLine line;
  bool precision = false;
  bool threads = false;
  bool tune = false;
};

ParsedFlags parseFlags(const std::string& words) {
  ParsedFlags flags;
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
  const bool elsewhere =
      !line.output.empty() || !line.database.empty() || !line.worker.empty() || line.json || line.force;
  if (line.kind != CommandKind::kRun || line.model != "model.pt" || elsewhere) {
    throw Error(ExitCode::kUsage, "Files, databases and workers are not chosen here; Export… writes a file.");
  }
  return flags;
}

}  // namespace

RunFlags readRunFlags(const std::string& words, const JobRequest& was) {
  const ParsedFlags flags = parseFlags(words);
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
  const std::string& dumps = request.optimize.dump_directory;
  if (dumps != was.optimize.dump_directory) checkDumpFolder(dumps, "give another folder");
  return {std::move(request), flags.line.prepared};
}

}  // namespace ipex_studio
