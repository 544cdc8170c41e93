// The kernels of the programs, made once.
#pragma once

#include <memory>

#include "kernels/kernel_list.h"

namespace ipex_studio::testing {

inline const KernelList& kernels() {
  static const std::unique_ptr<KernelList> list = makeKernelList();
  return *list;
}

}  // namespace ipex_studio::testing
