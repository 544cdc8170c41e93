// Prepares and runs single operations, for plans and the tuner.
#pragma once

#include <memory>
#include <string>

#include "core/op/kernel.h"

namespace ipex_studio {

// True for the plain version that other kernels are tested against; it takes anything and is never measured.
bool isReference(const std::string& kernel_name);

// Prepares the operation with this kernel, which is not asked where no result has an element. Returns null and a reason
// if the kernel declines or would need scratch memory far beyond its operands, as only shapes of a damaged or hostile
// plan do, such as a padding of a million around one pixel.
std::shared_ptr<const PreparedOp> prepareBy(const Kernel& kernel, const PrepareArgs& args, std::string* reason);

// Executes on the host with its own state and scratch memory. False if the operation reports data that it cannot
// process.
bool executeOnce(const PreparedOp& op, const void* const* src, void* const* dst);

}  // namespace ipex_studio
