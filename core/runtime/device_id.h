// The name of a device, as tensor descriptions, tuning keys and kernel lists carry it.
#pragma once

#include <cstdint>
#include <string>

namespace ipex_studio {

enum class DeviceKind : std::uint8_t { kCpu, kXpu };

struct DeviceId {
  DeviceKind kind = DeviceKind::kCpu;
  std::int32_t index = 0;

  bool isHost() const { return kind == DeviceKind::kCpu; }
  std::string str() const { return isHost() ? "cpu" : "xpu:" + std::to_string(index); }
  bool operator==(const DeviceId& other) const { return kind == other.kind && index == other.index; }
  bool operator!=(const DeviceId& other) const { return !(*this == other); }
};

}  // namespace ipex_studio
