// Transparent huge pages through mmap and madvise.
#include "core/base/huge_pages.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>

namespace ipex_studio {
namespace {

// MADV_COLLAPSE of <linux/mman.h>; older C libraries do not define it.
constexpr int kCollapse = 25;

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
  for (std::uintptr_t page = first / kHugePage * kHugePage; page < last; page += kHugePage) {
    // A page that two neighbours share is moved by the one that owns more than half of it.
    const std::uintptr_t ours = std::min(last, page + kHugePage) - std::max(first, page);
    if (ours < kHugePage / 2) continue;
    // ENOMEM: this page reaches into something else; the next may not. EINVAL: this kernel cannot collapse pages.
    if (::madvise(reinterpret_cast<void*>(page), kHugePage, kCollapse) != 0 && errno == EINVAL) return;
  }
}

}  // namespace ipex_studio
