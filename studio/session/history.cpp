// Commands of a session that leave the shown job as it is: history, comparisons, tables as files, decisions.
#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "core/base/string_util.h"
#include "core/record/records_json.h"
#include "core/runtime/machine_facts.h"
#include "profiler/text.h"
#include "studio/job/session_request.h"
#include "studio/protocol/protocol.h"
#include "studio/session/session.h"
#include "studio/snapshot/snapshot_precision.h"
#include "studio/snapshot/snapshot_report.h"
#include "studio/snapshot/snapshot_tables.h"
#include "studio/ui/screenshot.h"

namespace ipex_studio {
namespace {

constexpr std::int64_t kMaxJobs = 1000;

}  // namespace

void Session::beside(const std::function<void()>& action) {
  try {
    action();
  } catch (const std::exception& error) {
    log(LogLevel::kError, error.what());
    parts_.status.message = error.what();
  }
  publishStatus();
}

void Session::handle(const SaveTableCommand& command) {
  beside([&] { saveTable(command); });
}

void Session::handle(const ReportCommand& command) {
  beside([&] { saveReport(command); });
}

void Session::handle(const CompareCommand& command) {
  beside([&] { compare(command.runs); });
}

void Session::handle(const OverrideCommand& command) {
  const auto decide = [&] {
    overrides_.set(command.next);
    setOverrides();
  };
  if (!command.measure) return beside(decide);
  guarded([&] {
    decide();
    tryOverrides();
  });
}

void Session::handle(const StepOverridesCommand& command) {
  beside([&] {
    if (command.redo) overrides_.redo();
    if (!command.redo) overrides_.undo();
    setOverrides();
  });
}

void Session::saveTable(const SaveTableCommand& command) {
  const PanelTable table = filledTable(command.table, *latest());
  const std::string text = endsWith(command.path, ".json") ? dumpJson(tableJson(table)) + "\n" : tableCsv(table);
  std::ofstream file(command.path, std::ios::binary | std::ios::trunc);
  file << text;
  if (!file.flush())
    throw Error(ExitCode::kFailure,
                fmt::format("Cannot write {}; start the studio in a folder that can be written.", command.path));
  parts_.status.message = fmt::format("Wrote {} rows to {}.", table.rows.size(), command.path);
  log(LogLevel::kInfo, parts_.status.message);
}

void Session::saveReport(const ReportCommand& command) {
  const Picture empty;
  const Picture& picture = command.picture ? *command.picture : empty;
  const std::string png = picture.rgba.empty() ? "" : encodePng(picture.width, picture.height, picture.rgba);
  const bool html = endsWith(command.path, ".html");
  checkOutputPath(command.path);
  writeFileAtomically(command.path, html ? screenReportHtml(*latest(), {command.table, command.selected, png}) : png);
  parts_.status.message = fmt::format("Wrote what is on the screen to {}.", command.path);
  log(LogLevel::kInfo, parts_.status.message);
}

void Session::compare(const std::vector<std::int64_t>& runs) {
  parts_.comparison = nullptr;
  if (runs.size() < 2 || history_path_.empty()) return;
  const Database database = Database::open(history_path_, OpenMode::kReadOnly);
  parts_.comparison = std::make_shared<const RunSet>(compareRunSet(database, runs));
}

void Session::setOverrides() {
  parts_.overrides.now = overrides_.now();
  parts_.overrides.can_undo = overrides_.canUndo();
  parts_.overrides.can_redo = overrides_.canRedo();
  parts_.overrides.possible = model_ != nullptr && job_ != nullptr && parts_.status.state != JobState::kWorking;
}

void Session::readHistory(const Database& database, std::int64_t job) {
  auto history = std::make_shared<RunHistory>();
  history_path_ = database.path();
  history->shown_job = job;
  history->jobs = database.jobs(kMaxJobs);
  parts_.comparison = nullptr;
  parts_.precisions = nullptr;
  const auto shown = std::find_if(history->jobs.begin(), history->jobs.end(),
                                  [job](const JobSummary& other) { return other.id == job; });
  if (shown != history->jobs.end()) {
    std::vector<std::int64_t> both;
    for (const RunSummary& run : shown->runs) both.push_back(run.id);
    // The version that a what-if was measured against has the times of its operations in the job that it comes from.
    const auto earlier = std::find_if(shown + 1, history->jobs.end(), [&](const JobSummary& other) {
      return other.sha256 == shown->sha256 && !other.runs.empty() && other.runs.back().variant == "optimized";
    });
    if (shown->command == "what-if" && both.size() == 2 && earlier != history->jobs.end())
      both.front() = earlier->runs.back().id;
    if (both.size() >= 2) parts_.comparison = std::make_shared<const RunSet>(compareRunSet(database, both));
    // The newest optimized run in each precision, this job's own first.
    std::vector<std::int64_t> newest;
    for (const char* precision : kShownPrecisions) {
      const auto find = [&](const JobSummary& of) {
        for (const RunSummary& run : of.runs) {
          if (run.variant == "optimized" && run.precision == precision) return run.id;
        }
        return std::int64_t{0};
      };
      std::int64_t id = find(*shown);
      for (auto other = history->jobs.begin(); other != history->jobs.end() && id == 0; ++other) {
        if (other->sha256 == shown->sha256) id = find(*other);
      }
      if (id != 0) newest.push_back(id);
    }
    if (newest.size() >= 2) parts_.precisions = std::make_shared<const RunSet>(compareRunSet(database, newest));
  }
  parts_.history = std::move(history);
  auto tunings = std::make_shared<std::vector<TuningEntry>>();
  for (auto& [key, entry] : database.tunings("cpu", machineFacts().isa)) {
    const bool step = entry.spec.compare(0, 5, "plan ") != 0 && entry.spec.compare(0, 7, "reorder") != 0;
    if (step && entry.candidates.size() > 1) tunings->push_back(std::move(entry));
  }
  parts_.tunings = std::move(tunings);
}

void Session::measureRoofs(const MachineFacts& machine, std::int32_t threads) {
  const MachineFacts here = machineFacts();
  parts_.peaks = MachinePeaks();
  if ((model_ && !model_->worker.empty()) || machine.cpu != here.cpu || machine.isa != here.isa ||
      cancellation_.requested())
    return;
  parts_.peaks = measurePeaks(std::clamp(threads, 1, usableCores()));
}

}  // namespace ipex_studio
