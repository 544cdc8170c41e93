// Working memory of a thread that the layers of training share: it grows to what the largest of them needs.
#pragma once

#include <cstddef>

#include "core/runtime/device.h"

namespace ipex_studio {

// At least `bytes`, aligned for vectors, until the next call of this thread.
inline char* workingMemory(std::size_t bytes) {
  thread_local Buffer memory;
  if (memory.bytes() < bytes) memory = Buffer(bytes);
  return static_cast<char*>(memory.data());
}

}  // namespace ipex_studio
