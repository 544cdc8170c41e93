// Pages of 2 MB for memory that is streamed or read all over: faults are 500 times fewer, the TLB covers it, and
// hardware prefetching, which stops at the end of a page, does not stop. Hints: where the kernel declines, nothing happens.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ipex_studio {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

// The next multiple of `unit`, or the value itself.
constexpr std::uint64_t roundedUp(std::uint64_t value, std::uint64_t unit) { return (value + unit - 1) / unit * unit; }

// Zeroed memory of its own, at a multiple of `alignment`, which is one of pages; null where the system has no more. `bytes`
// are whole pages; munmap() takes any of them back.
void* mapPages(std::size_t bytes, std::size_t alignment);

// Before the memory is touched. `begin` lies on a huge page; the last part of `bytes` stays on small pages.
void wantHugePages(void* begin, std::size_t bytes);

// Memory that others filled: its contents move (Linux 6.1, MADV_COLLAPSE), its addresses stay. Costs some milliseconds per
// page, once.
void collapseIntoHugePages(const void* begin, std::size_t bytes);

}  // namespace ipex_studio
