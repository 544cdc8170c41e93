// Flags typed in the window: parsed by the same tree as the command line, so that the window can do whatever that can.
#pragma once

#include <string>

#include "studio/job/session_job.h"

namespace ipex_studio {

struct RunFlags {
  JobRequest request;
  bool prepared = false;  // --prepared was among them
};

// Reads the words that would follow "run MODEL" into a checked request. Settings that no flag names stay as in `was`.
// Throws Error, kUsage for words that cannot be used here.
RunFlags readRunFlags(const std::string& words, const JobRequest& was);

}  // namespace ipex_studio
