// ipex-studio-device: the program that asks OpenCL drivers, which are foreign code that may crash or never answer.
// ipex-studio starts it with a socket as descriptor 3, waits a while for the list of devices, and lives on without.
//
//   asking   text: what a driver is asked next
//   devices  list: a DeviceList
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>

#include "core/record/records_json.h"
#include "kernels/xpu/opencl_devices.h"
#include "studio/protocol/protocol.h"

namespace ipex_studio {
namespace {

DeviceList listOpenClDevices() {
  DeviceList list;
  const auto asking = [](const std::string& what) {
    writeFrame(kEngineChannelFd, {{"type", "asking"}, {"text", what}});
  };
  for (FoundDevice& found : findOpenClDevices(asking, &list.faults)) list.devices.push_back(std::move(found.record));
  return list;
}

}  // namespace
}  // namespace ipex_studio

int main() {
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const ipex_studio::DeviceList list = ipex_studio::listOpenClDevices();
  const bool sent =
      ipex_studio::writeFrame(ipex_studio::kEngineChannelFd, {{"type", "devices"}, {"list", toJson(list)}});
  // Without the destructors of drivers.
  ::_exit(sent ? 0 : 1);
}
