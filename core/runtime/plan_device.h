// The device that this process makes its plans for.
#pragma once

#include "core/runtime/device.h"

namespace ipex_studio {

// The host, until setPlanDevice() is called. Thread-safe.
Device& planDevice();

// Plans made from now on run on this device where it has kernels. It lives as long as the process.
void setPlanDevice(Device& device);

}  // namespace ipex_studio
