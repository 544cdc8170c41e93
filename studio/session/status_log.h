// The status line and the log of a session, and how often they and the records change in the window.
#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "studio/snapshot/snapshot.h"

namespace ipex_studio {

// Used by the working thread alone.
class StatusLog {
 public:
  const JobStatus& status() const { return status_; }
  void set(JobStatus status) { status_ = std::move(status); }
  void setMessage(const std::string& message) { status_.message = message; }
  // Sets the status of a running job. True if it is to be published: the stage is another one, or the last publication
  // is long enough ago.
  bool progress(const std::string& stage, double fraction, double eta_s);
  // True, at most a few times a second, if a record that has grown is to be published.
  bool recordIsDue();

  // The newest lines, oldest first.
  const std::vector<LogLine>& lines() const { return lines_; }
  // `path`: file that was written, if the line tells of one.
  void add(LogLevel level, const std::string& text, const std::string& path = "");

 private:
  using Clock = std::chrono::steady_clock;

  JobStatus status_;
  std::vector<LogLine> lines_;
  const Clock::time_point started_ = Clock::now();
  Clock::time_point last_progress_{};
  Clock::time_point last_record_{};
};

}  // namespace ipex_studio
