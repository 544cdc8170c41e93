// DeviceCopy: a step that moves a tensor to another device in the layout that it has. Private to core/plan.
#pragma once

#include <memory>

#include "core/op/kernel.h"

namespace ipex_studio {

inline constexpr const char kDeviceCopyName[] = "device_copy";  // as the kernel of a step

// Copies all bytes of the description, with what lies between its elements. The step's queue belongs to that of the two
// devices which is not the host.
std::shared_ptr<const PreparedOp> makeDeviceCopy(const TensorDesc& from, const DeviceId& to);

// True if the elements, with padded channels, fill all bytes of the description: a copy of it writes nothing else.
bool fillsItsExtent(const TensorDesc& desc);

}  // namespace ipex_studio
