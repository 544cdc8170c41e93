// See status_log.h.
#include "studio/session/status_log.h"

namespace ipex_studio {
namespace {

// Shortest time between two published records: indexing one costs tens of milliseconds, and nobody can follow more of
// them.
constexpr auto kRecordInterval = std::chrono::milliseconds(250);
constexpr std::size_t kMaxLogLines = 2000;

}  // namespace

bool StatusLog::progress(const std::string& stage, double fraction, double eta_s) {
  const bool same = status_.state == JobState::kWorking && status_.stage == stage;
  status_ = JobStatus{JobState::kWorking, stage, fraction, eta_s, ""};
  if (same && Clock::now() - last_progress_ < kRecordInterval) return false;
  last_progress_ = Clock::now();
  return true;
}

bool StatusLog::recordIsDue() {
  if (Clock::now() - last_record_ < kRecordInterval) return false;
  last_record_ = Clock::now();
  return true;
}

void StatusLog::add(LogLevel level, const std::string& text, const std::string& path) {
  const double time_s = std::chrono::duration<double>(Clock::now() - started_).count();
  if (lines_.size() >= kMaxLogLines) lines_.erase(lines_.begin());
  lines_.push_back({time_s, level, text, path});
}

}  // namespace ipex_studio
