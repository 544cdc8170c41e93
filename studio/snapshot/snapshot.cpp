// See snapshot.h.
#include "studio/snapshot/snapshot.h"

#include "core/base/error.h"

namespace ipex_studio {
namespace {

// The index points into the record, so both live and die together.
struct IndexedJob {
  std::shared_ptr<const JobRecord> job;
  std::shared_ptr<const JobIndex> index;
};

SnapshotPtr assemble(std::shared_ptr<const JobRecord> job, std::shared_ptr<const JobIndex> index, SnapshotParts parts,
                     const SnapshotPtr& previous) {
  auto snapshot = std::make_shared<StudioSnapshot>();
  snapshot->revision = previous ? previous->revision + 1 : 1;
  snapshot->job = std::move(job);
  snapshot->index = std::move(index);
  snapshot->status = std::move(parts.status);
  snapshot->choices = std::move(parts.choices);
  snapshot->peaks = parts.peaks;
  snapshot->history = parts.history ? std::move(parts.history) : std::make_shared<const RunHistory>();
  snapshot->comparison = std::move(parts.comparison);
  snapshot->precisions = std::move(parts.precisions);
  snapshot->tunings = std::move(parts.tunings);
  snapshot->source = std::move(parts.source);
  snapshot->overrides = std::move(parts.overrides);
  snapshot->work = std::move(parts.work);
  snapshot->tries = std::make_shared<const std::vector<WhatIf>>(std::move(parts.tries));
  snapshot->log = std::make_shared<const std::vector<LogLine>>(std::move(parts.log));
  return snapshot;
}

}  // namespace

std::string pressOptimize(const StudioSnapshot& snapshot) {
  switch (snapshot.status.state) {
    case JobState::kEmpty:
      return "Open a model (Ctrl+O) and press Optimize";
    case JobState::kRecorded:
      return snapshot.work.recorded_model.empty() ? "Open the model itself (Ctrl+O) and press Optimize"
                                                  : "Press “Open the model”, then Optimize";
    default:
      return "Press Optimize";
  }
}

std::string whyNotStart(const StudioSnapshot& snapshot) {
  if (snapshot.work.trust.asked()) return "Say first how far this model is to be trusted.";
  switch (snapshot.status.state) {
    case JobState::kEmpty:
      return "Open a model first (Ctrl+O).";
    case JobState::kRecorded:
      return "These are recorded runs, which cannot be run again; open the model itself.";
    case JobState::kWorking:
      return "Something runs already; wait for it, or cancel it (Ctrl+.).";
    case JobState::kFailed:
      return snapshot.work.tuning.possible ? "" : "The file could not be opened; open another (Ctrl+O).";
    default:
      return "";
  }
}

std::string whyNotDecide(const StudioSnapshot& snapshot) {
  if (snapshot.overrides.possible) return "";
  const std::string why = whyNotStart(snapshot);
  return why.empty() ? "Optimize the model first (F5); then decisions are tried against it." : why;
}

std::string whyNotExport(const StudioSnapshot& snapshot) {
  std::string why = whyNotStart(snapshot);
  if (!why.empty()) return why;
  const RunRecord* optimized = snapshot.index->optimized.run;
  if (optimized == nullptr) return "Optimize the model first (F5); then it can be written to a file.";
  if (!optimized->accuracy.pass) return "Its results are wrong, so it is not exported; the log says what to do.";
  return snapshot.status.state == JobState::kDone ? "" : "The last job did not come to its end; optimize again (F5).";
}

SnapshotPtr makeSnapshot(std::shared_ptr<const JobRecord> job, SnapshotParts parts, const SnapshotPtr& previous) {
  if (!job) job = std::make_shared<const JobRecord>();
  auto indexed = std::make_shared<IndexedJob>();
  indexed->job = job;
  indexed->index = buildJobIndex(*job);
  std::shared_ptr<const JobIndex> index(indexed, indexed->index.get());
  return assemble(std::move(job), std::move(index), std::move(parts), previous);
}

SnapshotPtr withStatus(const SnapshotPtr& previous, SnapshotParts parts) {
  IPEX_CHECK(previous != nullptr, "withStatus needs a previous snapshot");
  return assemble(previous->job, previous->index, std::move(parts), previous);
}

}  // namespace ipex_studio
