// Replaces operator new by one that counts.
#include "tests/kernels/allocation_count.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {
std::atomic<long> allocations{0};
}  // namespace

// The address sanitizer has its own operator new; nothing is counted with it.
#if !defined(__SANITIZE_ADDRESS__)
void* operator new(std::size_t bytes) {
  ++allocations;
  if (void* memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
#endif

namespace ipex_studio::kernel_test {

long allocationCount() { return allocations; }

}  // namespace ipex_studio::kernel_test
