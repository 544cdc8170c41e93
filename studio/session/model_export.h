// Exports of the open model: a file is written, then read again and compared with the original.
#pragma once

#include "studio/session/decisions.h"
#include "studio/session/job_runner.h"
#include "studio/session/open_model.h"
#include "studio/session/reporter.h"
#include "studio/snapshot/commands.h"
#include "studio/snapshot/snapshot_work.h"

namespace ipex_studio {

// Used by the working thread alone. The constructor's arguments must outlive it.
class ModelExport {
 public:
  ModelExport(OpenModel& model, Decisions& decisions, JobRunner& runner, Reporter& reporter,
              const Cancellation& cancellation)
      : model_(model), decisions_(decisions), runner_(runner), reporter_(reporter), cancellation_(cancellation) {}

  // Exports. A path or form that cannot be used, and wrong results of the file, become part of result() and the
  // status. Throws Error if the model cannot be optimized or written.
  void run(const ExportCommand& command);
  // The result of the last run().
  const ExportResult& result() const { return result_; }
  void clear() { result_ = ExportResult(); }

 private:
  // Optimizes again if the export asks for something else than was measured.
  void prepare(const ExportCommand& command);
  // Compares the file as another program would load it. What goes wrong leaves the job as it is.
  void verify();

  OpenModel& model_;
  Decisions& decisions_;
  JobRunner& runner_;
  Reporter& reporter_;
  const Cancellation& cancellation_;

  ExportResult result_;
};

}  // namespace ipex_studio
