// The list of all kernels: the only place that says which implementations an operation has and in what order they are
// tried.
#pragma once

#include <memory>

#include "core/op/kernel.h"

namespace ipex_studio {

// Thread-safe to read; kernels outlive their list only through prepared operations, which hold what they need.
std::unique_ptr<KernelList> makeKernelList();

}  // namespace ipex_studio
