// Translates a command line into the request of a job.
#pragma once

#include "studio/flags/command_line.h"
#include "studio/job/session_job.h"

namespace ipex_studio {

// The job that the command line asks for: its request, with the files that it names read. Throws Error(kUsage).
JobRequest jobRequest(const CommandLine& line, const char* command);

// --form, checked against --prepared and --only-ops. Throws Error(kUsage).
ExportForm exportForm(const CommandLine& line);

}  // namespace ipex_studio
