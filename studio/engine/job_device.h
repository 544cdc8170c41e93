// The device of a job.
#pragma once

#include "studio/engine/jobs.h"

namespace ipex_studio {

// Opens the device that the job asks for, and makes plans for it from now on; nothing for the CPU. It compiles no
// program: ipex-studio-device did. Throws Error(kUnsupported) where the device is gone, Error(kFailure) where it fails.
void useJobDevice(const EngineJob& job);

}  // namespace ipex_studio
