// See history.h.
#include "studio/session/history.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "core/runtime/machine_facts.h"
#include "profiler/faster_fp32.h"
#include "profiler/statistics.h"
#include "studio/snapshot/snapshot_precision.h"

namespace ipex_studio {
namespace {

constexpr std::int64_t kMaxJobs = 1000;

std::shared_ptr<const RunSet> judgedBy(RunSet set, const JobRecord& what_if) {
  const RunRecord& before = what_if.runs.front();
  const RunRecord& after = what_if.runs.back();
  set.ratio.back() = medianRatio({before.latency_ns, before.turn}, {after.latency_ns, after.turn});
  return std::make_shared<const RunSet>(std::move(set));
}

}  // namespace

void History::read(const Database& database, std::int64_t job) {
  list(database, job);
  compareShown(database, *runs_);
  auto tunings = std::make_shared<std::vector<TuningEntry>>();
  for (auto& [key, entry] : database.tunings("cpu", machineFacts().isa)) {
    const bool step = entry.spec.compare(0, 5, "plan ") != 0 && entry.spec.compare(0, 7, "reorder") != 0;
    if (step && entry.candidates.size() > 1) tunings->push_back(std::move(entry));
  }
  tunings_ = std::move(tunings);
}

void History::list(const Database& database, std::int64_t job) {
  auto history = std::make_shared<RunHistory>();
  path_ = database.path();
  history->jobs = database.jobs(kMaxJobs);
  history->models = libraryOf(history->jobs);
  history->shown_job = job;
  runs_ = std::move(history);
}

void History::readIfThere(const std::string& path) {
  const std::string wanted = path.empty() ? defaultDatabasePath() : path;
  if (::access(wanted.c_str(), R_OK) == 0) read(Database::open(wanted, OpenMode::kReadOnly), 0);
}

void History::refresh(const Database& database) {
  const std::int64_t shown = runs_ ? runs_->shown_job : 0;
  list(database, shown);
  const bool there =
      std::any_of(runs_->jobs.begin(), runs_->jobs.end(), [shown](const JobSummary& job) { return job.id == shown; });
  if (!there) list(database, 0);
}

void History::compareShown(const Database& database, const RunHistory& history) {
  comparison_ = nullptr;
  precisions_ = nullptr;
  const std::vector<JobSummary>& jobs = history.jobs;
  const auto shown =
      std::find_if(jobs.begin(), jobs.end(), [&](const JobSummary& other) { return other.id == history.shown_job; });
  if (shown == jobs.end()) return;
  std::vector<std::int64_t> both;
  for (const RunSummary& run : shown->runs) both.push_back(run.id);
  // The version that a what-if was measured against has its times of operations in an earlier job.
  const auto earlier = std::find_if(shown + 1, jobs.end(), [&](const JobSummary& other) {
    return other.sha256 == shown->sha256 && !other.runs.empty() && other.runs.back().variant == "optimized";
  });
  if (shown->command == "what-if" && both.size() == 2 && earlier != jobs.end()) both.front() = earlier->runs.back().id;
  if (both.size() >= 2) comparison_ = std::make_shared<const RunSet>(compareRunSet(database, both));
  std::vector<std::int64_t> newest = newestRuns(jobs, *shown, {kShownPrecisions.begin(), kShownPrecisions.end()});
  newest.erase(std::remove(newest.begin(), newest.end(), 0), newest.end());
  if (newest.size() >= 2) precisions_ = std::make_shared<const RunSet>(compareRunSet(database, newest));
}

void History::compare(const std::vector<std::int64_t>& runs) {
  comparison_ = nullptr;
  if (runs.size() < 2 || path_.empty()) return;
  comparison_ = std::make_shared<const RunSet>(compareRunSet(Database::open(path_, OpenMode::kReadOnly), runs));
}

void History::compareTry(const JobRecord& previous, const JobRecord& tried) {
  comparison_ =
      judgedBy(compareRunSet({{&previous, previous.runs.size() - 1}, {&tried, tried.runs.size() - 1}}), tried);
}

void History::judgeBy(const JobRecord& what_if) {
  if (comparison_ && comparison_->runs.size() == 2 && what_if.runs.size() == 2)
    comparison_ = judgedBy(*comparison_, what_if);
}

}  // namespace ipex_studio
