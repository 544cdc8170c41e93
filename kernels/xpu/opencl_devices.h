// Every OpenCL device of this machine, as its driver describes it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/record/device_record.h"
#include "kernels/xpu/opencl_api.h"

namespace ipex_studio {

// The feature of devices whose work groups share memory that is faster than that of all.
constexpr char kOwnLocalMemory[] = "local-memory";

struct FoundDevice {
  cl_platform_id platform = nullptr;
  cl_device_id device = nullptr;
  DeviceRecord record;
};

// Asks all drivers, in the loader's order, which numbers the devices: "opencl:0" is the first, "xpu:0" the first Intel
// GPU. `asking` is told what is asked next, half a sentence, so that a driver that never answers can be named. Failures
// become sentences in `faults`.
std::vector<FoundDevice> findOpenClDevices(const std::function<void(const std::string& what)>& asking,
                                           std::vector<std::string>* faults);

}  // namespace ipex_studio
