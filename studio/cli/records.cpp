// Commands on recorded runs: compare, db list, db import, db prune.
#include <fmt/format.h>

#include <cstdio>

#include "core/record/records_json.h"
#include "profiler/comparison.h"
#include "profiler/export/export_json.h"
#include "profiler/run_table.h"
#include "studio/cli/commands.h"
#include "studio/cli/progress.h"

namespace ipex_studio {
namespace {

Database openForWriting(const CommandLine& line) {
  return line.database.empty() ? Database::openDefault() : Database::open(line.database, OpenMode::kReadWrite);
}

}  // namespace

int compareRecordedRuns(const CommandLine& line) {
  const Database database = Database::open(line.database, OpenMode::kReadOnly);
  const RunComparison comparison = compareRuns(database, line.runs.at(0), line.runs.at(1));
  const TerminalStyle style = stdoutStyle();
  printText(line.json ? dumpJson(comparisonJson(comparison)) + "\n"
                      : comparisonTable(comparison, style.columns, style.color));
  return static_cast<int>(ExitCode::kOk);
}

int listRuns(const CommandLine& line) {
  const Database database =
      Database::open(line.database.empty() ? defaultDatabasePath() : line.database, OpenMode::kReadOnly);
  const std::vector<JobSummary> jobs = database.jobs(line.newest);
  const TerminalStyle style = stdoutStyle();
  printText(line.json ? dumpJson(jobsJson(jobs)) + "\n" : jobTable(jobs, style.columns, style.color));
  return static_cast<int>(ExitCode::kOk);
}

int importDatabase(const CommandLine& line) {
  Database database = openForWriting(line);
  const std::int64_t jobs = database.import(line.other);
  std::fprintf(stderr, "Took over %lld jobs from %s.\n", static_cast<long long>(jobs), line.other.c_str());
  return static_cast<int>(ExitCode::kOk);
}

int pruneDatabase(const CommandLine& line) {
  if (line.keep_jobs < 0 && line.keep_mb < 0) {
    throw Error(ExitCode::kUsage, "db prune needs to know what to keep: --keep N jobs, or --keep-mb MB.");
  }
  Database database = openForWriting(line);
  const std::int64_t jobs = database.prune({line.keep_jobs, line.keep_mb < 0 ? -1 : line.keep_mb * 1'000'000});
  std::fprintf(stderr, "Removed %lld jobs.\n", static_cast<long long>(jobs));
  return static_cast<int>(ExitCode::kOk);
}

}  // namespace ipex_studio
