#include "tests/kernels/xpu/opencl_machine.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "core/base/error.h"

namespace ipex_studio::testing {
namespace {

// PoCL keeps files of its own, which stay away from the user's.
const TemporaryFolder& driverFolder() {
  static const TemporaryFolder folder;
  ::setenv("POCL_CACHE_DIR", folder.path().c_str(), 1);
  return folder;
}

}  // namespace

TemporaryFolder::TemporaryFolder() : path_(std::filesystem::temp_directory_path().string() + "/ipex-xpu-test-XXXXXX") {
  if (::mkdtemp(path_.data()) == nullptr) std::abort();
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::unique_ptr<OpenClDevice> openTestDevice(const std::string& cache_folder, MayCompile may_compile) {
  driverFolder();
  try {
    return OpenClDevice::open("opencl", ProgramCache(cache_folder), may_compile);
  } catch (const Error& error) {
    if (error.code() != ExitCode::kUnsupported) throw;
    std::printf("%s\n", error.what());
    return nullptr;
  }
}

}  // namespace ipex_studio::testing
