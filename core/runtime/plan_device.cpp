#include "core/runtime/plan_device.h"

#include <fmt/format.h>

#include <atomic>
#include <map>
#include <mutex>
#include <utility>

#include "core/base/error.h"
#include "core/runtime/machine_facts.h"

namespace ipex_studio {
namespace {

std::atomic<Device*>& chosenDevice() {
  static std::atomic<Device*> device{&hostDevice()};
  return device;
}

Device*& threadDevice() {
  thread_local Device* device = nullptr;
  return device;
}

std::atomic<DeviceOpener>& deviceOpener() {
  static std::atomic<DeviceOpener> opener{nullptr};
  return opener;
}

}  // namespace

Device& planDevice() { return threadDevice() != nullptr ? *threadDevice() : *chosenDevice(); }

Capabilities capabilitiesOf(const Device& device) {
  if (device.isHost()) return machineCapabilities();
  Capabilities all;
  all.bf16 = all.vnni = true;
  return all;
}

void setPlanDevice(Device& device) { chosenDevice() = &device; }

PlanDeviceScope::PlanDeviceScope(Device& device) : before_(std::exchange(threadDevice(), &device)) {}

PlanDeviceScope::~PlanDeviceScope() { threadDevice() = before_; }

Device& openDevice(const std::string& asked) {
  static std::mutex mutex;
  static std::map<std::string, Device*> opened;
  const std::lock_guard<std::mutex> lock(mutex);
  Device*& device = opened[asked];
  if (device == nullptr && deviceOpener().load() == nullptr)
    throw Error(ExitCode::kUnsupported, fmt::format("No device '{}' can be opened here; use \"cpu\".", asked));
  if (device == nullptr) device = &deviceOpener().load()(asked);
  return *device;
}

void setDeviceOpener(DeviceOpener opener) { deviceOpener() = opener; }

}  // namespace ipex_studio
