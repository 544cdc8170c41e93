// Helpers for lower precision, shared by run, quantize and tune.
#pragma once

#include "studio/cli/progress.h"
#include "studio/flags/command_line.h"
#include "studio/job/session_precision.h"

namespace ipex_studio {

bool usesInt8(const JobRequest& request);

// Calibrates on the request's data if it has no recipe yet, and explains what a CPU without VNNI means for INT8.
void addRecipe(const CommandLine& line, const CheckedModel& model, JobRequest* request, TerminalProgress& progress,
               const Cancellation& cancellation);

}  // namespace ipex_studio
