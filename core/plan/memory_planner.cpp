// Two planners of arena offsets: greedy by size with best fit, and in order of time from a free list.
#include "core/plan/memory_planner.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace ipex_studio {
namespace {

constexpr std::int64_t kAlignment = 64;
constexpr std::size_t kMaxPairs = 2000000;  // some 30 MB and a quarter of a second

std::int64_t aligned(std::size_t bytes) {
  return static_cast<std::int64_t>((bytes + kAlignment - 1) / kAlignment * kAlignment);
}

// Numbers of the buffers that need memory, stably sorted by `before`.
template <typename Before>
std::vector<std::int32_t> sortedNumbers(const std::vector<BufferLifetime>& buffers, const Before& before) {
  std::vector<std::int32_t> numbers;
  for (std::size_t b = 0; b < buffers.size(); ++b) {
    if (buffers[b].bytes > 0) numbers.push_back(static_cast<std::int32_t>(b));
  }
  std::stable_sort(numbers.begin(), numbers.end(),
                   [&](std::int32_t a, std::int32_t b) { return before(buffers[a], buffers[b]); });
  return numbers;
}

bool startsBefore(const BufferLifetime& a, const BufferLifetime& b) { return a.first_step < b.first_step; }
bool isLarger(const BufferLifetime& a, const BufferLifetime& b) { return a.bytes > b.bytes; }

// Pairs of buffers that are alive at the same time: those with b are index[begin[b]] … index[begin[b + 1] - 1].
struct Neighbours {
  std::vector<std::size_t> begin;
  std::vector<std::int32_t> index;
};

bool findNeighbours(const std::vector<BufferLifetime>& buffers, std::size_t max_pairs, Neighbours* neighbours) {
  std::vector<std::pair<std::int32_t, std::int32_t>> pairs;
  std::vector<std::int32_t> alive;
  for (const std::int32_t b : sortedNumbers(buffers, startsBefore)) {
    const std::int32_t step = buffers[b].first_step;
    alive.erase(
        std::remove_if(alive.begin(), alive.end(), [&](std::int32_t other) { return buffers[other].last_step < step; }),
        alive.end());
    if (pairs.size() + alive.size() > max_pairs) return false;
    for (const std::int32_t other : alive) pairs.emplace_back(other, b);
    alive.push_back(b);
  }
  neighbours->begin.assign(buffers.size() + 1, 0);
  for (const auto& [a, b] : pairs) {
    ++neighbours->begin[static_cast<std::size_t>(a) + 1];
    ++neighbours->begin[static_cast<std::size_t>(b) + 1];
  }
  for (std::size_t b = 0; b < buffers.size(); ++b) neighbours->begin[b + 1] += neighbours->begin[b];
  neighbours->index.resize(pairs.size() * 2);
  std::vector<std::size_t> next(neighbours->begin.begin(), neighbours->begin.end() - 1);
  for (const auto& [a, b] : pairs) {
    neighbours->index[next[static_cast<std::size_t>(a)]++] = b;
    neighbours->index[next[static_cast<std::size_t>(b)]++] = a;
  }
  return true;
}

// Free memory below the arena's end, found by size and by offset.
class FreeList {
 public:
  // The smallest piece that fits, of equal ones the one freed last (it may still be in the cache); else new memory.
  std::int64_t take(std::int64_t size) {
    const auto found = by_size_.lower_bound({size, std::numeric_limits<std::int64_t>::min(), 0});
    if (found == by_size_.end()) return grow(size);
    const auto [piece_size, age, offset] = *found;
    remove(offset);
    if (piece_size > size) insert(offset + size, piece_size - size, -age);
    return offset;
  }

  void give(std::int64_t offset, std::int64_t size) {
    auto after = by_offset_.lower_bound(offset);
    if (after != by_offset_.end() && after->first == offset + size) {
      size += after->second.size;
      remove(after->first);
    }
    after = by_offset_.lower_bound(offset);
    if (after != by_offset_.begin()) {
      const auto before = std::prev(after);
      if (before->first + before->second.size == offset) {
        offset = before->first;
        size += before->second.size;
        remove(offset);
      }
    }
    insert(offset, size, ++clock_);
  }

  std::int64_t end() const { return end_; }

 private:
  struct Piece {
    std::int64_t size, freed;
  };

  // Extends the last piece when it reaches the end.
  std::int64_t grow(std::int64_t size) {
    std::int64_t offset = end_;
    if (!by_offset_.empty()) {
      const auto last = std::prev(by_offset_.end());
      if (last->first + last->second.size == end_) {
        offset = last->first;
        remove(offset);
      }
    }
    end_ = offset + size;
    return offset;
  }

  void insert(std::int64_t offset, std::int64_t size, std::int64_t freed) {
    by_offset_[offset] = {size, freed};
    by_size_.insert({size, -freed, offset});
  }

  void remove(std::int64_t offset) {
    const auto piece = by_offset_.find(offset);
    by_size_.erase({piece->second.size, -piece->second.freed, offset});
    by_offset_.erase(piece);
  }

  std::map<std::int64_t, Piece> by_offset_;
  std::set<std::tuple<std::int64_t, std::int64_t, std::int64_t>> by_size_;  // size, youngest first, offset
  std::int64_t end_ = 0, clock_ = 0;
};

void forgetOffsets(std::vector<BufferLifetime>& buffers) {
  for (BufferLifetime& buffer : buffers) buffer.offset = buffer.bytes == 0 ? 0 : -1;
}

}  // namespace

bool planMemoryBySize(std::vector<BufferLifetime>& buffers, std::size_t max_pairs, std::size_t* arena_bytes) {
  Neighbours neighbours;
  if (!findNeighbours(buffers, max_pairs, &neighbours)) return false;
  forgetOffsets(buffers);
  std::vector<std::pair<std::int64_t, std::int64_t>> taken;  // offset and end
  std::int64_t arena = 0;
  for (const std::int32_t b : sortedNumbers(buffers, isLarger)) {
    BufferLifetime& buffer = buffers[b];
    taken.clear();
    for (std::size_t n = neighbours.begin[b]; n < neighbours.begin[b + 1]; ++n) {
      const BufferLifetime& other = buffers[neighbours.index[n]];
      if (other.offset >= 0) taken.emplace_back(other.offset, other.offset + aligned(other.bytes));
    }
    std::sort(taken.begin(), taken.end());
    const std::int64_t size = aligned(buffer.bytes);
    std::int64_t best = -1, best_gap = std::numeric_limits<std::int64_t>::max(), end = 0;
    for (const auto& [from, to] : taken) {
      const std::int64_t gap = from - end;
      if (gap >= size && gap < best_gap) {
        best = end;
        best_gap = gap;
      }
      end = std::max(end, to);
    }
    buffer.offset = best >= 0 ? best : end;
    arena = std::max(arena, buffer.offset + size);
  }
  *arena_bytes = static_cast<std::size_t>(arena);
  return true;
}

std::size_t planMemoryByTime(std::vector<BufferLifetime>& buffers) {
  forgetOffsets(buffers);
  const auto larger_first = [](const BufferLifetime& a, const BufferLifetime& b) {
    return a.first_step != b.first_step ? a.first_step < b.first_step : a.bytes > b.bytes;
  };
  FreeList memory;
  std::set<std::pair<std::int32_t, std::int32_t>> alive;  // last step, buffer
  for (const std::int32_t b : sortedNumbers(buffers, larger_first)) {
    while (!alive.empty() && alive.begin()->first < buffers[b].first_step) {
      const BufferLifetime& dead = buffers[alive.begin()->second];
      memory.give(dead.offset, aligned(dead.bytes));
      alive.erase(alive.begin());
    }
    buffers[b].offset = memory.take(aligned(buffers[b].bytes));
    alive.emplace(buffers[b].last_step, b);
  }
  return static_cast<std::size_t>(memory.end());
}

std::size_t planMemory(std::vector<BufferLifetime>& buffers) {
  std::size_t arena_bytes = 0;
  return planMemoryBySize(buffers, kMaxPairs, &arena_bytes) ? arena_bytes : planMemoryByTime(buffers);
}

}  // namespace ipex_studio
