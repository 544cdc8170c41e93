// Asking kernels. Private to core/plan.
#pragma once

#include <memory>
#include <string>

#include "core/op/kernel.h"

namespace ipex_studio {

// The plain version that other kernels are tested against; it takes anything and is never measured.
bool isReference(const std::string& kernel_name);

// The operation made ready by this kernel; null, with a reason, where it declines, or would need scratch memory far beyond
// its operands: shapes that only a damaged or hostile plan has, such as a padding of a million around one pixel.
std::shared_ptr<const PreparedOp> prepareBy(const Kernel& kernel, const PrepareArgs& args, std::string* reason);

// Executes on the host, with a state and scratch memory of its own. False where the operation says that it cannot do this data.
bool executeOnce(const PreparedOp& op, const void* const* src, void* const* dst);

}  // namespace ipex_studio
