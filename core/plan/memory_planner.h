// Turns lifetimes of buffers into offsets in one arena.
#pragma once

#include <cstdint>
#include <vector>

namespace ipex_studio {

struct BufferLifetime {
  std::size_t bytes = 0;
  std::int32_t first_step = 0;  // written here
  std::int32_t last_step = 0;   // read here for the last time; inclusive
  std::int64_t offset = -1;     // result; 64-byte aligned
};

// Sets offsets such that buffers alive at the same step do not overlap, and returns the arena's size in bytes. Greedy
// by size, best fit (Pisarchyk and Lee, arXiv:2001.03288, section 5); from a free list in order of time where so many
// buffers live at once that their pairs would cost too much. O((n + pairs alive together) · log n), the pairs being
// bounded.
std::size_t planMemory(std::vector<BufferLifetime>& buffers);

// Each algorithm by itself, for tests. planMemoryBySize returns false, with nothing planned, if there are more than
// `max_pairs` pairs.
bool planMemoryBySize(std::vector<BufferLifetime>& buffers, std::size_t max_pairs, std::size_t* arena_bytes);
std::size_t planMemoryByTime(std::vector<BufferLifetime>& buffers);

}  // namespace ipex_studio
