// The open model: its file, its trust, and the request of jobs that run it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "studio/job/session_database.h"
#include "studio/job/session_job.h"
#include "studio/session/reporter.h"
#include "studio/snapshot/commands.h"
#include "studio/snapshot/snapshot_work.h"

namespace ipex_studio {

struct SessionOptions {
  std::string file;                 // a model, or a database of recorded runs; empty: nothing yet
  std::string database_path;        // database of recorded runs; empty: the default one
  JobRequest request;               // request of the command line, for every job
  std::vector<std::string> worker;  // command that models are run by (session_worker.h); empty: by this machine
  bool measure_at_once = true;      // models are optimized when they are opened; else their graph alone is shown
  bool ask_trust = false;           // dangerous models wait for a TrustCommand; else they run in the sandbox
};

// True for files that begin as SQLite databases do.
bool isDatabaseFile(const std::string& path);

// Used by the working thread alone. `reporter` and `cancellation` must outlive it.
class OpenModel {
 public:
  OpenModel(SessionOptions options, Reporter& reporter, const Cancellation& cancellation);

  // To be called before `path` is opened: settings of the command line for another file do not hold for it.
  void choose(const std::string& path);
  // The chosen file; empty: none.
  const std::string& file() const { return options_.file; }
  // Checks the chosen file, here or by the worker, and logs the findings. Throws Error.
  void load();
  // Forgets the model and the state shown of it; the request stays.
  void close();
  bool loaded() const { return model_ != nullptr; }
  // The model, which must be loaded; valid until close().
  const CheckedModel& checked() const { return *model_; }
  // The record of a job before it began.
  JobRecord record() const;

  // Shows the arguments of the model's forward.
  void showArguments(const std::vector<ArgumentRecord>& arguments) { work_.inputs.arguments = arguments; }
  void showSource(const std::shared_ptr<const SourceRecord>& source) { source_ = source; }
  // The source of the open model or recorded job; null: it is not known.
  const std::shared_ptr<const SourceRecord>& source() const { return source_; }
  // Asks the user for other inputs, because of `problem`; an empty problem ends that.
  void askInputs(const std::string& problem);

  // True if the model must not run before its user has answered; the question is then published as part of work().
  bool askTrust();
  bool trustIsAsked() const { return work_.trust.asked(); }
  // Ends the question; a model that is trusted runs without the sandbox, and is not asked about again.
  void answerTrust(bool trusted);

  // True if models are optimized when they are opened.
  bool measuresAtOnce() const { return options_.measure_at_once; }
  void setMeasuresAtOnce(bool at_once) { options_.measure_at_once = at_once; }

  // The request of jobs on the model, without decisions.
  const JobRequest& request() const { return options_.request; }
  JobRequest& request() { return options_.request; }
  // Takes values of --input for the next runs. `of_point`: those of a measured point, which a chip shows until they
  // ran.
  void takeInputs(const std::vector<std::string>& inputs, bool of_point);
  // The request with decisions added, and with what the database remembers of the loaded model.
  JobRequest requestWith(const Overrides& decisions, JobDatabase& database) const;
  // The request without decisions, trusted as the model is.
  JobRequest trustedRequest() const;
  // Flags of `ipex-studio run` in place of those before. False if they cannot be used; the status then says why.
  bool takeFlags(const std::string& words);
  // Sets one flag back to its default; returns a sentence about it. Throws Error(kUsage) for a name that no flag has.
  std::string dropFlag(const std::string& name);
  // Sets the recipe for INT8. `source`: its origin, as a sentence.
  void setRecipe(const std::string& recipe, const std::string& source);
  // Path of the database of recorded runs; empty: the default one.
  const std::string& databasePath() const { return options_.database_path; }

  // State of the open file for snapshots, without exports and interrupted jobs.
  WorkState work() const;
  // Shows `file` as open.
  void showFile(const std::string& file) { work_.file = file; }
  // Shows that a recorded job is open, and its model if that is at hand.
  void showRecorded(const JobRecord& job);

 private:
  Reporter& reporter_;
  const Cancellation& cancellation_;
  SessionOptions options_;  // the file and the request change
  std::unique_ptr<CheckedModel> model_;
  bool trusted_ = false;  // runs without the sandbox, as its user said
  WorkState work_;
  std::shared_ptr<const SourceRecord> source_;
};

}  // namespace ipex_studio
