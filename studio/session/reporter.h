// The reports of a session's parts to the window.
#pragma once

#include <string>

#include "studio/job/session_job.h"
#include "studio/snapshot/snapshot.h"

namespace ipex_studio {

// Receives reports, and events of jobs, on the working thread alone.
class Reporter : public JobEvents {
 public:
  // Adds a line to the log; it shows with the next snapshot.
  virtual void log(LogLevel level, const std::string& text) = 0;
  // Adds a line about a file that was written.
  virtual void logWritten(const std::string& text, const std::string& path) = 0;
  // Sets the status; it shows with the next snapshot.
  virtual void setStatus(JobStatus status) = 0;
  // Publishes a snapshot of everything but the record, which stays.
  virtual void publishStatus() = 0;
  // Publishes a snapshot of everything, with this record.
  virtual void publishRecord(const JobRecord& job) = 0;
  // The last published snapshot; never null.
  virtual SnapshotPtr latest() = 0;

  void setState(JobState state, const std::string& message) {
    setStatus(JobStatus{state, "", -1, -1, message});
    publishStatus();
  }
  // Shows what ended a job, with the exit code of a program that did this job alone.
  void fail(JobState state, const Error& error) {
    setStatus(JobStatus{state, "", -1, -1, error.what(), error.code()});
    publishStatus();
  }
};

}  // namespace ipex_studio
