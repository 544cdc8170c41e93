// The OpenCL device that tests run on, and a folder for its compiled programs.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "kernels/xpu/opencl_device.h"

namespace ipex_studio::testing {

// A folder of its own, removed at the end.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Device opencl:0, with programs of this folder; null, and a message, where the machine has none.
std::unique_ptr<OpenClDevice> openTestDevice(const std::string& cache_folder,
                                             MayCompile may_compile = MayCompile::kYes);

}  // namespace ipex_studio::testing

// Skips a test on a machine without OpenCL.
#define IPEX_NEEDS_OPENCL(device) \
  if ((device) == nullptr) GTEST_SKIP() << "no OpenCL device here; samples/setup.sh --tests installs PoCL"
