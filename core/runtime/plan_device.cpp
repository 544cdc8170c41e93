#include "core/runtime/plan_device.h"

#include <atomic>

namespace ipex_studio {
namespace {

std::atomic<Device*>& chosenDevice() {
  static std::atomic<Device*> device{&hostDevice()};
  return device;
}

}  // namespace

Device& planDevice() { return *chosenDevice(); }

void setPlanDevice(Device& device) { chosenDevice() = &device; }

}  // namespace ipex_studio
