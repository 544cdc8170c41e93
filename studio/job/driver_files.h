// The files by which the driver of a GPU reaches it, which the engine's sandbox has to leave open.
#pragma once

#include <string>
#include <vector>

#include "core/record/device_record.h"

namespace ipex_studio {

// Those of this machine that are there, folders among them; none for a device that is the processor, whose driver needs
// no more than libraries. Looked for below `root`, "/" but in tests.
std::vector<std::string> driverFiles(const DeviceRecord& device, const std::string& root = "/");

// Throws Error(kUnsupported) where there are such files and the sandbox cannot leave these alone open: without Landlock
// it denies opening any file for writing.
void checkSandboxLeavesOpen(const std::vector<std::string>& files, bool has_landlock, const std::string& device);

// Folder of what drivers keep for themselves, in a folder of compiled programs and in one of a job.
constexpr char kDriverCache[] = "driver";

// Copies what drivers kept beside the compiled programs to the job's folder: the engine's driver wants to write there,
// and no engine may write what another one reads.
void copyDriverCache(const std::string& programs, const std::string& job_folder);

}  // namespace ipex_studio
