// Purges jemalloc's arenas if it is the allocator, and trims the heap of the C library.
#include "core/base/freed_memory.h"

#include <cstdlib>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "core/base/jemalloc.h"

namespace ipex_studio {

void returnFreedMemory() {
  // Arena 4096 is MALLCTL_ARENAS_ALL: all arenas.
  if (mallctl != nullptr) mallctl("arena.4096.purge", nullptr, nullptr, nullptr, 0);
#ifdef __GLIBC__
  ::malloc_trim(0);
#endif
}

}  // namespace ipex_studio
