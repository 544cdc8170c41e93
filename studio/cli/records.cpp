// Commands on recorded runs: compare, and those of db.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

#include "core/record/records_json.h"
#include "core/record/tuning_store.h"
#include "profiler/comparison.h"
#include "profiler/export/export_json.h"
#include "profiler/library/library.h"
#include "profiler/run_table.h"
#include "profiler/text.h"
#include "studio/cli/commands.h"
#include "studio/cli/progress.h"
#include "studio/job/session_database.h"

namespace ipex_studio {
namespace {

Database openForWriting(const CommandLine& line) {
  return line.database.empty() ? Database::openDefault() : Database::open(line.database, OpenMode::kReadWrite);
}

// Opens a database that must exist, since one that is made now has nothing to name.
Database openExisting(const CommandLine& line) {
  const std::string path = line.database.empty() ? defaultDatabasePath() : line.database;
  Database::open(path, OpenMode::kReadOnly);
  return Database::open(path, OpenMode::kReadWrite);
}

constexpr std::int64_t kAllJobs = -1;  // SQLite's LIMIT for all rows

// The item as a sentence begins with it: "Job 12 of net.pt", "The model net.pt".
std::string itemText(const std::vector<JobSummary>& jobs, const LibraryItem& item) {
  const auto job = std::find_if(jobs.begin(), jobs.end(), [&](const JobSummary& j) {
    return item.job > 0 ? j.id == item.job : j.sha256 == item.sha256;
  });
  if (job == jobs.end()) return "It";
  const std::string file = printable(fileName(job->model_path));
  return item.job > 0 ? fmt::format("Job {} of {}", item.job, file) : fmt::format("The model {}", file);
}

int addKernelTimes(const CommandLine& line) {
  std::ifstream file;
  if (line.other != "-") file.open(line.other);
  std::istream& source = line.other == "-" ? std::cin : file;
  if (!source) throw Error(ExitCode::kUsage, printable(line.other) + " cannot be read.");
  MemoryTuningStore added;
  added.readText({std::istreambuf_iterator<char>(source), {}});
  if (added.empty()) throw Error(ExitCode::kUsage, printable(line.other) + " holds no times of kernels.");
  JobDatabase database(line.database);
  database.recordTuning(added);
  if (database.problem()) throw *database.problem();
  std::fprintf(stderr, "Took over the times of %zu operations and plans.\n", added.entries(false).size());
  return static_cast<int>(ExitCode::kOk);
}

}  // namespace

int nameItem(const CommandLine& line) {
  Database database = openExisting(line);
  const std::vector<JobSummary> jobs = database.jobs(kAllJobs);
  const LibraryItem item = findItem(jobs, line.item);
  database.setName(item, line.name);
  const std::string text = itemText(jobs, item);
  std::fprintf(stderr, "%s\n",
               (line.name.empty() ? text + " has no name any more."
                                  : fmt::format("{} is called {} now.", text, printable(line.name)))
                   .c_str());
  return static_cast<int>(ExitCode::kOk);
}

int pinItem(const CommandLine& line, bool pinned) {
  Database database = openExisting(line);
  const std::vector<JobSummary> jobs = database.jobs(kAllJobs);
  const LibraryItem item = findItem(jobs, line.item);
  database.setPinned(item, pinned);
  std::fprintf(stderr, "%s is %s.\n", itemText(jobs, item).c_str(),
               pinned ? "pinned: db prune leaves it" : "not pinned any more");
  return static_cast<int>(ExitCode::kOk);
}

int forgetItem(const CommandLine& line) {
  Database database = openExisting(line);
  const std::vector<JobSummary> jobs = database.jobs(kAllJobs);
  const LibraryItem item = findItem(jobs, line.item);
  const auto count = std::count_if(jobs.begin(), jobs.end(), [&](const JobSummary& job) {
    return item.job > 0 ? job.id == item.job : job.sha256 == item.sha256;
  });
  const std::string what = fmt::format("{}{}", itemText(jobs, item),
                                       item.job > 0 ? "" : fmt::format(" with {} job{}", count, count == 1 ? "" : "s"));
  if (!line.force) throw Error(ExitCode::kUsage, fmt::format("{} would be removed for good; --force does it.", what));
  database.forget(item);
  std::fprintf(stderr, "%s is removed.\n", what.c_str());
  return static_cast<int>(ExitCode::kOk);
}

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
  std::vector<JobSummary> jobs = database.jobs(line.find.empty() ? line.newest : kAllJobs);
  const auto other = [&](const JobSummary& job) { return !matches(job, line.find); };
  jobs.erase(std::remove_if(jobs.begin(), jobs.end(), other), jobs.end());
  jobs.resize(std::min(jobs.size(), static_cast<std::size_t>(line.newest)));
  const TerminalStyle style = stdoutStyle();
  if (line.json) {
    printText(dumpJson(jobsJson(jobs)) + "\n");
  } else if (jobs.empty()) {
    std::fprintf(stderr, "%s\n", line.find.empty() ? "No job is recorded yet." : "No job has all of these words.");
  } else {
    printText(jobTable(jobs, style.columns, style.color));
  }
  return static_cast<int>(ExitCode::kOk);
}

int importDatabase(const CommandLine& line) {
  Database database = openForWriting(line);
  const std::int64_t jobs = database.import(line.other);
  std::fprintf(stderr, "Took over %lld jobs from %s.\n", static_cast<long long>(jobs), line.other.c_str());
  return static_cast<int>(ExitCode::kOk);
}

int exchangeKernelTimes(const CommandLine& line) {
  if (!line.other.empty()) return addKernelTimes(line);
  std::string known = dumpJson(MemoryTuningStore().toJson(false));
  if (std::filesystem::exists(line.database.empty() ? defaultDatabasePath() : line.database)) {
    JobDatabase database(line.database);
    const std::string remembered = database.rememberedTuning();
    if (database.problem()) throw *database.problem();
    if (!remembered.empty()) known = remembered;
  }
  printText(known + "\n");
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
