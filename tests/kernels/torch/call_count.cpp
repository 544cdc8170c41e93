// Replacements of malloc, its kin and pthread_mutex_lock that count.
#include "tests/kernels/torch/call_count.h"

#include <dlfcn.h>
#include <pthread.h>

#include <cerrno>
#include <cstddef>

namespace ipex_studio::testing {
namespace {

// Plain data in the program's own TLS block: reading it allocates nothing for any caller.
thread_local bool counting = false;
thread_local CallCount counted;

}  // namespace

CallCounter::CallCounter() {
  counted = {};
  counting = true;
}
CallCounter::~CallCounter() { counting = false; }
CallCount CallCounter::count() const { return counted; }

void noteAllocation() {
  if (counting) ++counted.allocations;
}
void noteLock() {
  if (counting) ++counted.locks;
}

bool callsAreCounted() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return false;
#else
  return true;
#endif
}

}  // namespace ipex_studio::testing

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// glibc's own names of the replaced functions.
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);

void* malloc(std::size_t bytes) {
  ipex_studio::testing::noteAllocation();
  return __libc_malloc(bytes);
}
void* calloc(std::size_t count, std::size_t bytes) {
  ipex_studio::testing::noteAllocation();
  return __libc_calloc(count, bytes);
}
void* realloc(void* memory, std::size_t bytes) {
  ipex_studio::testing::noteAllocation();
  return __libc_realloc(memory, bytes);
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  ipex_studio::testing::noteAllocation();
  return __libc_memalign(alignment, bytes);
}
int posix_memalign(void** memory, std::size_t alignment, std::size_t bytes) {
  ipex_studio::testing::noteAllocation();
  *memory = __libc_memalign(alignment, bytes);
  return *memory != nullptr ? 0 : ENOMEM;
}

int pthread_mutex_lock(pthread_mutex_t* mutex) {
  using Lock = int (*)(pthread_mutex_t*);
  static const Lock real = reinterpret_cast<Lock>(dlsym(RTLD_NEXT, "pthread_mutex_lock"));
  ipex_studio::testing::noteLock();
  return real(mutex);
}
}
#endif
