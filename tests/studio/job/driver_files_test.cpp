// The files that the engine's sandbox leaves open for the drivers of GPUs, and for no others.
#include "studio/job/driver_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "core/base/error.h"
#include "tests/studio/cli/program.h"

namespace ipex_studio {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

DeviceRecord deviceOfType(const char* type) {
  DeviceRecord device;
  device.type = type;
  return device;
}

TEST(DriverFiles, AreTheNodesOfGpusAlone) {
  const testing::Sandpit pit;
  std::filesystem::create_directories(pit.path("dev/dri"));
  std::filesystem::create_directories(pit.path("dev/nvidia-caps"));
  for (const char* node :
       {"dev/nvidia0", "dev/nvidiactl", "dev/kfd", "dev/sda", "dev/mem", "dev/dri/card0", "dev/dri/renderD128"})
    std::ofstream(pit.path(node)) << "";
  const std::string root = pit.path() + "/";
  EXPECT_THAT(driverFiles(deviceOfType("gpu"), root),
              ElementsAre(root + "dev/dri/renderD128", root + "dev/kfd", root + "dev/nvidia-caps", root + "dev/nvidia0",
                          root + "dev/nvidiactl"));
  EXPECT_THAT(driverFiles(deviceOfType("cpu"), root), IsEmpty()) << "PoCL needs libraries alone";
  EXPECT_THAT(driverFiles(deviceOfType("gpu"), pit.path("nowhere/")), IsEmpty());
}

TEST(DriverFiles, EnginesGetCopiesOfWhatDriversKeep) {
  const testing::Sandpit pit;
  copyDriverCache(pit.path("programs"), pit.path());
  EXPECT_FALSE(std::filesystem::exists(pit.path(kDriverCache)));
  std::filesystem::create_directories(pit.path("programs/driver/0/1"));
  std::ofstream(pit.path("programs/driver/0/1/kept")) << "kept";
  copyDriverCache(pit.path("programs"), pit.path());
  EXPECT_EQ(std::filesystem::file_size(pit.path("driver/0/1/kept")), 4u);
}

TEST(DriverFiles, NeedLandlockInTheSandbox) {
  checkSandboxLeavesOpen({}, false, "opencl");
  checkSandboxLeavesOpen({"/dev/nvidia0"}, true, "opencl");
  try {
    checkSandboxLeavesOpen({"/dev/nvidia0"}, false, "opencl:1");
    ADD_FAILURE() << "the driver could not open it";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kUnsupported);
    EXPECT_THAT(error.what(), HasSubstr("--device opencl:1: this kernel has no Landlock"));
    EXPECT_THAT(error.what(), HasSubstr("open /dev/nvidia0; use --trust"));
  }
}

}  // namespace
}  // namespace ipex_studio
