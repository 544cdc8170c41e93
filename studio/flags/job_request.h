// Translates a command line into the request of a job.
#pragma once

#include <string>
#include <vector>

#include "studio/flags/command_line.h"
#include "studio/job/session_job.h"

namespace ipex_studio {

// The request that --input, --disable, --threads … make of a job.
JobRequest jobRequest(const CommandLine& line, const char* command);

// --form, and checked against --prepared. Throws Error(kUsage).
ExportForm exportForm(const CommandLine& line);

// --precision as typed: the last is what is exported, the others are measured beside it.
std::vector<Precision> precisionsOf(const std::string& text);

}  // namespace ipex_studio
