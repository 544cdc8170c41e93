// The kernel by which records name a copy between two devices.
#pragma once

namespace ipex_studio {

inline constexpr const char kDeviceCopyName[] = "device_copy";  // StepRecord::kernel

}  // namespace ipex_studio
