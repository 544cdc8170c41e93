#include "studio/job/driver_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "core/base/error.h"
#include "core/base/string_util.h"

namespace ipex_studio {
namespace {

// Nodes of NVIDIA's driver and of AMD's for computing, and those of all GPUs for drawing and computing. The nodes that
// set a screen's mode are not among them.
struct NodePattern {
  const char* folder;
  const char* start;
};
constexpr NodePattern kNodes[] = {{"dev", "nvidia"}, {"dev", "kfd"}, {"dev/dri", "renderD"}};

}  // namespace

std::vector<std::string> driverFiles(const DeviceRecord& device, const std::string& root) {
  std::vector<std::string> files;
  if (device.type == "cpu") return files;
  for (const NodePattern& pattern : kNodes) {
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(root + pattern.folder, ignored)) {
      if (startsWith(entry.path().filename().string(), pattern.start)) files.push_back(entry.path().string());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

void copyDriverCache(const std::string& programs, const std::string& job_folder) {
  const std::filesystem::path from = std::filesystem::path(programs) / kDriverCache;
  // What is missing is made anew, which takes time alone.
  std::error_code ignored;
  if (std::filesystem::exists(from, ignored))
    std::filesystem::copy(from, std::filesystem::path(job_folder) / kDriverCache,
                          std::filesystem::copy_options::recursive | std::filesystem::copy_options::skip_existing,
                          ignored);
}

void checkSandboxLeavesOpen(const std::vector<std::string>& files, bool has_landlock, const std::string& device) {
  if (files.empty() || has_landlock) return;
  throw Error(
      ExitCode::kUnsupported,
      fmt::format("--device {}: this kernel has no Landlock, without which the sandbox cannot let a GPU's driver "
                  "open {}; use --trust for a model that you trust, or --device cpu.",
                  device, files.front()));
}

}  // namespace ipex_studio
