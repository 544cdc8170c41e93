// Pages of 2 MB for memory that is streamed or read all over: faults are 500 times fewer, the TLB covers the memory,
// and hardware prefetching, which stops at the end of a page, runs on. Only hints: where the kernel declines, nothing
// happens.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ipex_studio {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

// Returns the next multiple of `unit`, or the value itself if it is one.
constexpr std::uint64_t roundedUp(std::uint64_t value, std::uint64_t unit) { return (value + unit - 1) / unit * unit; }

// Maps zeroed private memory at a multiple of `alignment`, which is a multiple of the page size; returns null if the
// system has no more. `bytes` is a whole number of pages; munmap() takes any of them back.
void* mapPages(std::size_t bytes, std::size_t alignment);

// Asks for huge pages before the memory is touched. `begin` lies on a huge page; a last part of `bytes` that fills none
// stays on small pages.
void wantHugePages(void* begin, std::size_t bytes);

// Moves memory that is already filled to huge pages (Linux 6.1, MADV_COLLAPSE); addresses stay the same. Costs some
// milliseconds per page, once. Memory that is freed meanwhile, or another's by now, takes no harm.
void collapseIntoHugePages(const void* begin, std::size_t bytes);

}  // namespace ipex_studio
