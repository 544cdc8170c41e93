// The programs in OpenCL C. There are no others: what a device compiles does not depend on any model.
#pragma once

#include <string>
#include <vector>

#include "kernels/xpu/opencl_device.h"

namespace ipex_studio {

// The program of kernels/xpu/programs/NAME.cl.
const DeviceProgram& deviceProgram(const std::string& name);
const std::vector<DeviceProgram>& devicePrograms();

}  // namespace ipex_studio
