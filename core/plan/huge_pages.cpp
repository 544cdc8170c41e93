#include "core/plan/huge_pages.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>

namespace ipex_studio {
namespace {

// <linux/mman.h>; older C libraries do not name it.
constexpr int kCollapse = 25;

}  // namespace

void wantHugePages(void* begin, std::size_t bytes) {
  if (bytes >= kHugePage) ::madvise(begin, bytes / kHugePage * kHugePage, MADV_HUGEPAGE);
}

void collapseIntoHugePages(const void* begin, std::size_t bytes) {
  const auto first = reinterpret_cast<std::uintptr_t>(begin);
  const std::uintptr_t last = first + bytes;
  for (std::uintptr_t page = first / kHugePage * kHugePage; page < last; page += kHugePage) {
    // Of neighbours that share a page, the one that has most of it moves it.
    const std::uintptr_t ours = std::min(last, page + kHugePage) - std::max(first, page);
    if (ours < kHugePage / 2) continue;
    // ENOMEM: the page reaches into something else, the next may not. EINVAL: this kernel cannot.
    if (::madvise(reinterpret_cast<void*>(page), kHugePage, kCollapse) != 0 && errno == EINVAL) return;
  }
}

}  // namespace ipex_studio
