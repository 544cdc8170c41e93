// Opens the studio: a session behind a window.
#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <condition_variable>
#include <mutex>

#include "core/record/records_json.h"
#include "studio/cli/commands.h"
#include "studio/cli/interrupt.h"
#include "studio/flags/job_request.h"
#include "studio/job/session_worker.h"
#include "studio/panels/panel_list.h"
#include "studio/session/session.h"
#include "studio/snapshot/snapshot_tables.h"
#include "studio/window/settings.h"

namespace ipex_studio {
namespace {

constexpr int kSmallest = 64, kLargest = 16384;

void parseSize(const std::string& text, WindowOptions& options) {
  const char* end = text.data() + text.size();
  const auto [cross, first] = std::from_chars(text.data(), end, options.width);
  bool good = first == std::errc() && cross != end && *cross == 'x';
  if (good) {
    const auto [rest, second] = std::from_chars(cross + 1, end, options.height);
    good = second == std::errc() && rest == end;
  }
  for (const int side : {options.width, options.height}) good = good && side >= kSmallest && side <= kLargest;
  if (!good) {
    throw Error(ExitCode::kUsage, fmt::format("--size {}: give it as 1600x1000, each side from {} to {} pixels.", text,
                                              kSmallest, kLargest));
  }
}

// Access to the session for the thread that waits for signals; null while there is no session.
struct OpenSession {
  class Scope {
   public:
    Scope(OpenSession& place, Session* session) : place_(place) { place_.set(session); }
    ~Scope() { place_.set(nullptr); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    OpenSession& place_;
  };
  void set(Session* value) {
    const std::lock_guard lock(mutex);
    session = value;
  }
  std::mutex mutex;
  Session* session = nullptr;
};

// Ends the program as `run` would have ended with this job. Does nothing for a job that went well.
void throwFailure(const JobStatus& status) {
  if (status.code != ExitCode::kOk) throw Error(status.code, status.message);
}

// Waits until the session has done its work, then prints the table of a panel. Needs no window.
int printPanel(const CommandLine& line, SessionOptions options) {
  const std::string panel = line.panel.empty() ? "operations" : line.panel;
  panelNamed(panel);  // throws for an unknown name before anything is run
  std::mutex mutex;
  std::condition_variable changed;
  bool news = false;
  const auto wake = [&] {
    const std::lock_guard lock(mutex);
    news = true;
    changed.notify_all();
  };
  Cancellation interrupted;
  const InterruptWatch watch(interrupted, wake);
  Session session(std::move(options));
  session.setWakeup(wake);
  SnapshotPtr last = session.latest();
  while (last->status.state == JobState::kWorking && !interrupted.requested()) {
    std::unique_lock lock(mutex);
    // The wait is bounded, since something may have changed before the wakeup was set.
    changed.wait_for(lock, std::chrono::milliseconds(200), [&] { return news; });
    news = false;
    lock.unlock();
    last = session.latest();
  }
  session.setWakeup({});
  if (interrupted.requested()) return static_cast<int>(kInterrupted);
  if (last->status.state == JobState::kFailed && last->index->optimized.run == nullptr) throwFailure(last->status);
  const PanelTable table = panelTable(panel, *last);
  printText(line.csv ? tableCsv(table) : dumpJson(tableJson(table)) + "\n");
  throwFailure(last->status);
  return static_cast<int>(ExitCode::kOk);
}

}  // namespace

int openStudio(const CommandLine& line, const WindowRunner& window) {
  WindowOptions options;
  parseSize(line.size, options);
  options.theme = line.theme;
  options.settings_path = settingsPath();
  options.panel = line.panel;
  options.screenshot_path = line.screenshot;
  options.script_path = line.script;
  options.report_path = line.report;
  options.scale = line.scale;
  SessionOptions session_options;
  session_options.file = line.model;
  session_options.database_path = line.database;
  session_options.request = jobRequest(line, "studio");
  session_options.worker = splitCommand(line.worker);
  // Only an open window can ask the user, and only its user can press Optimize.
  session_options.ask_trust = line.screenshot.empty() && line.report.empty() && !line.json && !line.csv;
  const bool by_hand = session_options.ask_trust && line.script.empty() && line.panel.empty();
  session_options.measure_at_once = !by_hand || readSettings(options.settings_path).measure_at_once;
  checkRequest(session_options.request);
  // A missing file is an error before a window opens.
  const bool here = !line.model.empty() && !session_options.request.remote;
  if (here && !isDatabaseFile(line.model)) UniqueFd(openModelFile(line.model));
  if (line.json || line.csv) return printPanel(line, std::move(session_options));
  // Ctrl-C in the terminal closes the window as its own button does, so that engines end and their folder is removed.
  OpenSession open_session;
  Cancellation interrupted;
  const InterruptWatch watch(interrupted, [&open_session] {
    const std::lock_guard lock(open_session.mutex);
    if (open_session.session != nullptr) open_session.session->post(CancelCommand{});  // wakes the window, too
  });
  options.after_frame = [&interrupted](const FrameStatistics&) { return !interrupted.requested(); };
  Session session(std::move(session_options));
  const OpenSession::Scope opened(open_session, &session);
  const int code = window(options, session);
  if (interrupted.requested()) return static_cast<int>(kInterrupted);
  const SnapshotPtr last = session.latest();
  // The exit code tells a script that the job of its screenshot failed.
  if (!line.screenshot.empty() || !line.report.empty()) throwFailure(last->status);
  return code;
}

}  // namespace ipex_studio
