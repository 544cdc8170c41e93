// ipex-studio-device: the program that drivers of OpenCL are loaded into, which are foreign code that may crash or
// never answer, and which compiles. ipex-studio starts it with a socket as descriptor 3, waits, and lives on without
// it. It is given no model.
//
//   ipex-studio-device                        answers "devices", list: a DeviceList
//   ipex-studio-device compile DEVICE FOLDER  puts the programs of the device into the folder; answers
//                                             "compiled", device: a DeviceRecord
//
// Before the answer come "asking", text: what a driver is asked next; instead of it "error", text: a sentence.
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <exception>
#include <filesystem>

#include "core/base/error.h"
#include "core/record/records_json.h"
#include "kernels/xpu/opencl_devices.h"
#include "kernels/xpu/program_texts.h"
#include "studio/protocol/protocol.h"

namespace ipex_studio {
namespace {

bool say(const nlohmann::json& message) { return writeFrame(kEngineChannelFd, message); }
void sayAsking(const std::string& what) { say({{"type", "asking"}, {"text", what}}); }

nlohmann::json listOpenClDevices() {
  DeviceList list;
  for (FoundDevice& found : findOpenClDevices(sayAsking, &list.faults)) list.devices.push_back(std::move(found.record));
  return {{"type", "devices"}, {"list", toJson(list)}};
}

nlohmann::json compilePrograms(const std::string& asked, const std::string& folder) {
  std::error_code ignored;
  std::filesystem::create_directories(folder, ignored);
  if (::access(folder.c_str(), W_OK) != 0)
    throw Error(
        ExitCode::kUnsupported,
        fmt::format("Compiled programs need the folder {}, which cannot be written; set XDG_CACHE_HOME.", folder));
  // NVIDIA's driver keeps there what it makes of its binaries; engines get copies (studio/job/driver_files.h).
  ::setenv("CUDA_CACHE_PATH", (folder + "/driver").c_str(), 1);
  sayAsking(fmt::format("{} was opened", asked));
  const auto device = OpenClDevice::open(asked, ProgramCache(folder), MayCompile::kYes);
  for (const DeviceProgram& program : devicePrograms()) {
    sayAsking(fmt::format("the program {} was compiled for {}", program.name, device->properties().name));
    device->program(program);
  }
  return {{"type", "compiled"}, {"device", toJson(device->record())}};
}

int run(int count, char** arguments) {
  try {
    if (count == 1) return say(listOpenClDevices()) ? 0 : 1;
    if (count == 4 && arguments[1] == std::string("compile"))
      return say(compilePrograms(arguments[2], arguments[3])) ? 0 : 1;
  } catch (const std::exception& error) {
    say({{"type", "error"}, {"text", error.what()}});
    return 1;
  }
  return 2;
}

}  // namespace
}  // namespace ipex_studio

int main(int argc, char** argv) {
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // Without the destructors of drivers.
  ::_exit(ipex_studio::run(argc, argv));
}
