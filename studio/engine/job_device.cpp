#include "studio/engine/job_device.h"

#include <memory>

#include "core/runtime/plan_device.h"
#include "kernels/xpu/opencl_device.h"

namespace ipex_studio {

void useJobDevice(const EngineJob& job) {
  if (job.optimize.device == "cpu" || !planDevice().isHost()) return;
  // Never destroyed, since plans that static objects hold use it to the end.
  static OpenClDevice* const device =
      OpenClDevice::open(job.optimize.device, ProgramCache(job.device_programs), MayCompile::kNo).release();
  setPlanDevice(*device);
}

}  // namespace ipex_studio
