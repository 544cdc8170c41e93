// The device that plans are made for: each plan cache takes it when it is made.
#pragma once

#include <string>

#include "core/record/options.h"
#include "core/runtime/device.h"

namespace ipex_studio {

// That of this thread's PlanDeviceScope, else that of setPlanDevice(), else the host. Thread-safe.
Device& planDevice();

// Returns what the kernels of the device compute natively. Programs of devices beside the host take BF16 and sum bytes
// exactly, whatever instructions they are compiled to.
Capabilities capabilitiesOf(const Device& device);

// Plan caches made from now on are for this device, which lives as long as the process.
void setPlanDevice(Device& device);

// While it lives, plan caches that its thread makes are for this device.
class PlanDeviceScope {
 public:
  explicit PlanDeviceScope(Device& device);
  ~PlanDeviceScope();
  PlanDeviceScope(const PlanDeviceScope&) = delete;
  PlanDeviceScope& operator=(const PlanDeviceScope&) = delete;

 private:
  Device* before_;
};

// The device of a value of --device other than "cpu", opened in this process at the first call. Throws
// Error(kUnsupported) where it is not there or this process knows no devices. Thread-safe.
Device& openDevice(const std::string& asked);

// Sets how openDevice() opens a device, which it does once for each value.
using DeviceOpener = Device& (*)(const std::string& asked);
void setDeviceOpener(DeviceOpener opener);

}  // namespace ipex_studio
