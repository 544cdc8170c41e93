// report: a recorded job as one HTML file.
#include <fmt/format.h>

#include <cstdio>

#include "profiler/export_html.h"
#include "studio/cli/commands.h"
#include "studio/session_files.h"

namespace ipex_studio {
namespace {

constexpr std::int64_t kHistoryJobs = 20;

}  // namespace

int writeReport(const CommandLine& line) {
  checkOutputPath(line.output);
  const Database database = Database::open(line.database, OpenMode::kReadOnly);
  std::int64_t id = line.job;
  if (id == 0) {
    const auto newest = database.jobs(1);
    if (newest.empty()) throw Error(ExitCode::kDatabase, fmt::format("{} holds no recorded runs yet.", line.database));
    id = newest.front().id;
  }
  const JobRecord job = database.job(id);
  writeFileAtomically(line.output, htmlReport(job, database.jobs(kHistoryJobs, job.model.sha256)));
  std::fprintf(stderr, "Wrote job %lld to %s.\n", static_cast<long long>(id), line.output.c_str());
  return static_cast<int>(ExitCode::kOk);
}

}  // namespace ipex_studio
