#include "core/plan/freed_memory.h"

#include <cstdlib>

#ifdef __GLIBC__
#include <malloc.h>
#endif

// jemalloc's, where the process was linked with it or given it (see ipex_allocator in CMakeLists.txt).
extern "C" int mallctl(const char* name, void* old_value, std::size_t* old_size, void* new_value, std::size_t new_size) __attribute__((weak));

namespace ipex_studio {

void returnFreedMemory() {
  // 4096: of all arenas, MALLCTL_ARENAS_ALL.
  if (mallctl != nullptr) mallctl("arena.4096.purge", nullptr, nullptr, nullptr, 0);
#ifdef __GLIBC__
  ::malloc_trim(0);
#endif
}

}  // namespace ipex_studio
