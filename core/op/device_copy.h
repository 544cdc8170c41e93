// DeviceCopy: a step that moves a tensor to another device in the layout that it has.
#pragma once

#include <memory>

#include "core/op/kernel.h"
#include "core/record/device_copy_name.h"
#include "core/runtime/device.h"

namespace ipex_studio {

// Copies all bytes of the description, those between its elements included. The step must run in the queue of `other`,
// whichever of the two devices is not the host.
std::shared_ptr<const PreparedOp> makeDeviceCopy(const TensorDesc& from, const DeviceId& to, const Device& other);

// True if the elements, with padded channels, fill all bytes of the description, so that a copy writes nothing between
// them.
bool fillsItsExtent(const TensorDesc& desc);

}  // namespace ipex_studio
