// Measures a model over threads, instances, batch sizes and precisions: an engine for each precision and batch size,
// all points by turns.
#pragma once

#include <functional>
#include <string>

#include "core/record/curves_record.h"
#include "core/record/tuning_store.h"
#include "studio/job/session_job.h"

namespace ipex_studio {

struct MeasuredCurves {
  CurvesRecord curves;
  JobRecord job;  // "curves": model, inputs and machine, without runs
};

// Of `request` it uses `curves`, the precisions, and all that `run` optimizes by. `changed` gets what is known after
// each round. What was measured until the job is cancelled is returned as incomplete; Error(kInterrupted) where that is
// nothing. Other errors are thrown if no engine can run the model; what fails for one batch size or precision is a
// note. `tuning` receives the times of kernels that were measured.
MeasuredCurves measureCurves(const CheckedModel& model, const JobRequest& request, MemoryTuningStore& tuning,
                             JobEvents& events, const Cancellation& cancellation,
                             const std::function<void(const CurvesRecord&)>& changed = {});

// The precisions to measure in: those of the request, or FP32 and what else the machine computes natively, INT8 where
// the request has a recipe. Throws Error(kUsage) for INT8 without one, Error(kUnsupported) as checkRequest().
std::vector<Precision> curvePrecisions(const JobRequest& request);

}  // namespace ipex_studio
