// The files that a command writes, looked at before its work begins.
#include "core/base/error.h"
#include "core/plan/prepared_weights.h"
#include "profiler/database.h"
#include "studio/cli/commands.h"
#include "studio/job/outputs.h"
#include "studio/job/session_worker.h"
#include "studio/job/training_job.h"

namespace ipex_studio {
namespace {

std::vector<std::string> filesWritten(const CommandLine& line) {
  std::vector<std::string> files{line.output,   line.save_recipe, line.junit,
                                 line.markdown, line.screenshot,  line.report};
  if (line.prepared && !line.output.empty()) files.push_back(line.output + kPreparedSuffix);
  if (line.kind == CommandKind::kTrain) files.push_back(TrainingFiles{line.output}.checkpoint());
  return files;
}

std::vector<std::string> filesRead(const CommandLine& line) {
  std::vector<std::string> files{line.database.empty() ? defaultDatabasePath() : line.database,
                                 line.data.preprocess_path, line.recipe, line.only_ops_path, line.script};
  if (!line.worker.empty()) return files;  // the others are on another machine
  files.insert(files.end(), {line.model, line.other, line.inputs_path, line.data.path, line.data.metric,
                             line.train.validation_path});
  files.insert(files.end(), line.libraries.begin(), line.libraries.end());
  return files;
}

// True for commands that record in a database, which --db may name.
bool records(CommandKind kind) {
  switch (kind) {
    case CommandKind::kStudio:
    case CommandKind::kRun:
    case CommandKind::kBench:
    case CommandKind::kCalibrate:
    case CommandKind::kQuantize:
    case CommandKind::kTune:
    case CommandKind::kTrain:
      return true;
    default:
      return false;
  }
}

}  // namespace

void checkFiles(const CommandLine& line) {
  const bool trains = line.kind == CommandKind::kTrain;
  checkOutputs({filesWritten(line), filesRead(line), line.force || (trains && line.train.resume)},
               trains ? "add --resume to go on with it, --force to begin anew, or give another name"
                      : "give another name, or --force to replace it");
  if (!line.force) checkDumpFolder(line.optimize.dump_directory, "give another folder, or --force to replace them");
  // A database that a user names is meant; the default one is a convenience, and its problems stop no job.
  if (line.database.empty() || !records(line.kind)) return;
  for (const std::string& file : filesRead(line)) {
    if (file != line.database && isSameFile(file, line.database))
      throw Error(ExitCode::kDatabase, file + " is no profile database; name another file with --db.");
  }
  Database::open(line.database, OpenMode::kReadWrite).checkWritable();
}

}  // namespace ipex_studio
