#include "core/base/freed_memory.h"

#include <cstdlib>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "core/base/jemalloc.h"

namespace ipex_studio {

void returnFreedMemory() {
  // 4096: of all arenas, MALLCTL_ARENAS_ALL.
  if (mallctl != nullptr) mallctl("arena.4096.purge", nullptr, nullptr, nullptr, 0);
#ifdef __GLIBC__
  ::malloc_trim(0);
#endif
}

}  // namespace ipex_studio
