#include "core/plan/memory_planner.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace ipex_studio {
namespace {

constexpr std::int64_t kAlignment = 64;

std::int64_t aligned(std::size_t bytes) {
  return static_cast<std::int64_t>((bytes + kAlignment - 1) / kAlignment * kAlignment);
}

bool overlapInTime(const BufferLifetime& a, const BufferLifetime& b) {
  return a.first_step <= b.last_step && b.first_step <= a.last_step;
}

}  // namespace

std::size_t planMemory(std::vector<BufferLifetime>& buffers) {
  std::vector<std::size_t> by_size(buffers.size());
  std::iota(by_size.begin(), by_size.end(), 0);
  std::stable_sort(by_size.begin(), by_size.end(),
                   [&](std::size_t a, std::size_t b) { return buffers[a].bytes > buffers[b].bytes; });
  std::vector<std::size_t> placed;  // sorted by offset
  std::int64_t arena = 0;
  for (std::size_t index : by_size) {
    BufferLifetime& buffer = buffers[index];
    const std::int64_t size = aligned(buffer.bytes);
    std::int64_t best = -1;
    std::int64_t best_gap = std::numeric_limits<std::int64_t>::max();
    std::int64_t end = 0;
    for (std::size_t other : placed) {
      if (!overlapInTime(buffer, buffers[other])) continue;
      const std::int64_t gap = buffers[other].offset - end;
      if (gap >= size && gap < best_gap) {
        best = end;
        best_gap = gap;
      }
      end = std::max(end, buffers[other].offset + aligned(buffers[other].bytes));
    }
    buffer.offset = best >= 0 ? best : end;
    arena = std::max(arena, buffer.offset + size);
    const auto at = std::upper_bound(placed.begin(), placed.end(), buffer.offset, [&](std::int64_t offset, std::size_t p) {
      return offset < buffers[p].offset;
    });
    placed.insert(at, index);
  }
  return static_cast<std::size_t>(arena);
}

}  // namespace ipex_studio
