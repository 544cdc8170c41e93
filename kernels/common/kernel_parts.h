// KernelParts: what makers get for kernels that compute with oneDNN, or run a part of their work by other kernels.
#pragma once

#include "core/op/kernel.h"

namespace dnnl {
struct engine;
}

namespace ipex_studio {

// The engine and the kernels live as long as the list that a kernel is made for (kernels/kernel_list.cpp).
struct KernelParts {
  const dnnl::engine& engine;
  const Kernel *first = nullptr, *second = nullptr;  // the kernels that the row in the list names
};

}  // namespace ipex_studio
