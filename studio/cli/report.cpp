// The report command: writes a recorded job as one file for people or for other programs.
#include <fmt/format.h>

#include <cstdio>
#include <string>

#include "core/base/replace_file.h"
#include "core/record/records_json.h"
#include "profiler/curves/curves_table.h"
#include "profiler/export/export_html.h"
#include "profiler/export/export_json.h"
#include "studio/cli/advice_text.h"
#include "studio/cli/commands.h"
#include "studio/job/session_files.h"

namespace ipex_studio {
namespace {

constexpr std::int64_t kHistoryJobs = 20;

// The curves of the job, or the newest of its model on the same CPU.
CurvesRecord curvesOf(const Database& database, std::int64_t id, const JobRecord& job) {
  CurvesRecord curves = database.curves(id);
  return curves.empty() ? database.newestCurves(job.model.sha256, job.machine.cpu) : curves;
}

std::string htmlOf(const Database& database, std::int64_t id, const JobRecord& job) {
  return htmlReport(job, database.jobs(kHistoryJobs, job.model.sha256), database.passGains(id),
                    curvesOf(database, id, job));
}

std::string jsonOf(const Database& database, std::int64_t id, const JobRecord& job) {
  nlohmann::json json = benchJson(job);
  json["advice"] = adviceJson(buildJobIndex(job)->advice);
  json["pass_gains"] = passGainsJson(database.passGains(id));
  const CurvesRecord curves = curvesOf(database, id, job);
  json["curves"] = curves.empty() ? nlohmann::json() : curvesJson(curves, 0);
  return dumpJson(json) + "\n";
}

struct Format {
  const char* suffix;
  std::string (*text)(const Database&, std::int64_t id, const JobRecord&);
};

// Formats by suffix; a longer suffix precedes one that it ends with.
constexpr Format kFormats[] = {
    {".html", htmlOf},
    {".htm", htmlOf},
    {".csv", [](const Database&, std::int64_t, const JobRecord& job) { return stepsCsv(job); }},
    {".trace.json", [](const Database&, std::int64_t, const JobRecord& job) { return traceJson(job); }},
    {".json", jsonOf},
};

const Format& formatOf(const std::string& path) {
  for (const Format& format : kFormats) {
    const std::string suffix = format.suffix;
    if (path.size() > suffix.size() && path.compare(path.size() - suffix.size(), suffix.size(), suffix) == 0)
      return format;
  }
  throw Error(ExitCode::kUsage, fmt::format("{} does not say what to write; let it end in .html, .csv, .json or "
                                            ".trace.json.",
                                            path));
}

}  // namespace

int writeReport(const CommandLine& line) {
  const Format& format = formatOf(line.output);
  const Database database = Database::open(line.database, OpenMode::kReadOnly);
  std::int64_t id = line.job;
  if (id == 0) {
    const auto newest = database.jobs(1);
    if (newest.empty()) throw Error(ExitCode::kDatabase, fmt::format("{} holds no recorded runs yet.", line.database));
    id = newest.front().id;
  }
  const JobRecord job = database.job(id);
  writeFileAtomically(line.output, format.text(database, id, job));
  std::fprintf(stderr, "Wrote job %lld to %s.\n", static_cast<long long>(id), line.output.c_str());
  return static_cast<int>(ExitCode::kOk);
}

}  // namespace ipex_studio
