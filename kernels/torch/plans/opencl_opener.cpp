// Opens OpenCL devices for programs that ask for one by OptimizeOptions::device. These are a user's own, so drivers may
// compile in them; the engine opens its device itself.
#include "core/runtime/plan_device.h"
#include "core/runtime/programs_folder.h"
#include "kernels/xpu/opencl_device.h"

namespace ipex_studio {
namespace {

// The device is never destroyed, since plans that static objects hold use it to the end.
Device& openOpenCl(const std::string& asked) {
  return *OpenClDevice::open(asked, ProgramCache(deviceProgramsFolder()), MayCompile::kYes).release();
}

[[maybe_unused]] const bool kOpens = (setDeviceOpener(&openOpenCl), true);

}  // namespace
}  // namespace ipex_studio
