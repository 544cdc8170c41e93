// The devices of this machine, asked in a process of their own since drivers may crash or never answer.
#pragma once

#include <string>

#include "core/record/device_record.h"

namespace ipex_studio {

constexpr double kDriverPatience_s = 15;

// The host and every OpenCL device. Returns within `patience_s` and a little; whatever drivers do becomes a sentence
// in `faults`. Throws Error(kFailure) only where our own program is missing.
DeviceList listDevices(double patience_s = kDriverPatience_s);

// Checks a value of --device, and asks drivers where it is not "cpu". Throws Error(kUsage) for texts that mean nothing,
// and Error(kUnsupported), with what was found and what to install, for devices that are not there or cannot be used.
void checkDevice(const std::string& device);

// Compiles the programs of this device into the folder, if they are not there, in a process of their own. Returns what
// the device is. Throws Error(kUnsupported) with what the driver said or did.
DeviceRecord prepareDevice(const std::string& device, const std::string& folder);

}  // namespace ipex_studio
