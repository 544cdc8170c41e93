// Transparent huge pages through mmap and madvise.
#include "core/base/huge_pages.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>

namespace ipex_studio {
namespace {

// MADV_COLLAPSE of <linux/mman.h>; older C libraries do not define it.
constexpr int kCollapse = 25;

void collapse(std::uintptr_t begin, std::size_t bytes) {
  ::madvise(reinterpret_cast<void*>(begin), bytes, kCollapse);  // whatever it answers, the memory is as it was
}

}  // namespace

void* mapPages(std::size_t bytes, std::size_t alignment) {
  void* mapped = ::mmap(nullptr, bytes + alignment, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  // The unaligned head and tail are given back.
  const auto address = reinterpret_cast<std::uintptr_t>(mapped);
  const std::size_t before = roundedUp(address, alignment) - address;
  char* const first = static_cast<char*>(mapped) + before;
  if (before > 0) ::munmap(mapped, before);
  ::munmap(first + bytes, alignment - before);
  return first;
}

void wantHugePages(void* begin, std::size_t bytes) {
  if (bytes >= kHugePage) ::madvise(begin, bytes / kHugePage * kHugePage, MADV_HUGEPAGE);
}

void collapseIntoHugePages(const void* begin, std::size_t bytes) {
  const auto first = reinterpret_cast<std::uintptr_t>(begin);
  const std::uintptr_t last = first + bytes;
  const std::uintptr_t head = first / kHugePage * kHugePage, tail = last / kHugePage * kHugePage;
  // A page that two neighbours share is moved by the one that owns more than half of it. It may reach into something
  // else, so that the kernel refuses it, and with it what comes behind.
  const auto move_shared = [&](std::uintptr_t page) {
    if (std::min(last, page + kHugePage) - std::max(first, page) >= kHugePage / 2) collapse(page, kHugePage);
  };
  const std::uintptr_t whole = roundedUp(first, kHugePage);
  if (head < whole) move_shared(head);
  // Those in between in one request: each request waits until all processors have done something for it.
  if (whole < tail) collapse(whole, tail - whole);
  if (tail < last && tail >= whole) move_shared(tail);
}

}  // namespace ipex_studio
