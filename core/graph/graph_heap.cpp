// The jemalloc arena behind GraphHeap, and the page runs that it allocates from.
#include "core/graph/graph_heap.h"

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "core/base/huge_pages.h"
#include "core/base/jemalloc.h"

// jemalloc's interface for page runs, as its manual gives it under "arena.<i>.extent_hooks".
extern "C" {
struct extent_hooks_s {
  void* (*alloc)(extent_hooks_s*, void* wanted, std::size_t size, std::size_t alignment, bool* zero, bool* commit,
                 unsigned arena);
  bool (*dalloc)(extent_hooks_s*, void*, std::size_t size, bool committed, unsigned arena);
  void (*destroy)(extent_hooks_s*, void*, std::size_t size, bool committed, unsigned arena);
  bool (*commit)(extent_hooks_s*, void*, std::size_t size, std::size_t offset, std::size_t length, unsigned arena);
  bool (*decommit)(extent_hooks_s*, void*, std::size_t size, std::size_t offset, std::size_t length, unsigned arena);
  bool (*purge_lazy)(extent_hooks_s*, void*, std::size_t size, std::size_t offset, std::size_t length, unsigned arena);
  bool (*purge_forced)(extent_hooks_s*, void*, std::size_t size, std::size_t offset, std::size_t length,
                       unsigned arena);
  bool (*split)(extent_hooks_s*, void*, std::size_t size, std::size_t size_a, std::size_t size_b, bool committed,
                unsigned arena);
  bool (*merge)(extent_hooks_s*, void* a, std::size_t size_a, void* b, std::size_t size_b, bool committed,
                unsigned arena);
};
}

namespace ipex_studio {
namespace {

constexpr std::size_t kChunkBytes = std::size_t{64} << 20;    // mapped at once, touched piece by piece
constexpr std::size_t kLargestExtent = std::size_t{8} << 20;  // larger requests are single allocations, mostly tensors

// Places extents one behind the other, so that huge pages have no gaps. Nothing is ever unmapped: extents of different
// mappings may be merged.
class Chunks {
 public:
  void* allocate(std::size_t size, std::size_t alignment) {
    if (size > kLargestExtent || alignment > kHugePage) return mapPages(size, alignment);
    const std::lock_guard<std::mutex> lock(mutex_);
    std::uintptr_t at = roundedUp(next_, alignment);
    if (at + size > end_) {
      void* chunk = mapPages(kChunkBytes, kHugePage);
      if (chunk == nullptr) return mapPages(size, alignment);
      wantHugePages(chunk, kChunkBytes);
      at = reinterpret_cast<std::uintptr_t>(chunk);
      end_ = at + kChunkBytes;
    }
    next_ = at + size;
    return reinterpret_cast<void*>(at);
  }

 private:
  std::mutex mutex_;
  std::uintptr_t next_ = 0, end_ = 0;
};

Chunks& chunks() {
  static Chunks all;
  return all;
}

void* allocateExtent(extent_hooks_s*, void* wanted, std::size_t size, std::size_t alignment, bool* zero, bool* commit,
                     unsigned) {
  if (wanted != nullptr) return nullptr;
  void* memory = chunks().allocate(size, alignment);
  if (memory != nullptr) *zero = *commit = true;
  return memory;
}

bool keepExtent(extent_hooks_s*, void*, std::size_t, bool, unsigned) { return true; }

bool purgeExtent(extent_hooks_s*, void* extent, std::size_t, std::size_t offset, std::size_t length, unsigned) {
  return madvise(static_cast<char*>(extent) + offset, length, MADV_DONTNEED) != 0;
}

bool splitExtent(extent_hooks_s*, void*, std::size_t, std::size_t, std::size_t, bool, unsigned) { return false; }
bool mergeExtents(extent_hooks_s*, void*, std::size_t, void*, std::size_t, bool, unsigned) { return false; }

template <typename T>
bool writeSetting(const std::string& name, T value) {
  return mallctl(name.c_str(), nullptr, nullptr, &value, sizeof(value)) == 0;
}

// Makes the arena that allocates from those chunks. It gives memory back only when told to.
std::optional<unsigned> makeArena() {
  if (mallctl == nullptr) return {};
  static extent_hooks_s hooks = {allocateExtent, keepExtent,  nullptr,     nullptr,     nullptr,
                                 nullptr,        purgeExtent, splitExtent, mergeExtents};
  extent_hooks_s* address = &hooks;
  unsigned arena = 0;
  std::size_t size = sizeof(arena);
  if (mallctl("arenas.create", &arena, &size, &address, sizeof(void*)) != 0) return {};
  const std::string prefix = "arena." + std::to_string(arena);
  const bool ready = writeSetting(prefix + ".dirty_decay_ms", ssize_t{-1}) &&
                     writeSetting(prefix + ".muzzy_decay_ms", ssize_t{-1}) &&
                     writeSetting(prefix + ".retain_grow_limit", kLargestExtent);
  return ready ? std::optional<unsigned>(arena) : std::nullopt;
}

// Returns the arena that this thread leaves; flushes the blocks that the thread held in reserve.
unsigned enterArena(unsigned arena) {
  unsigned before = 0;
  std::size_t size = sizeof(before);
  mallctl("thread.arena", &before, &size, &arena, sizeof(arena));
  mallctl("thread.tcache.flush", nullptr, nullptr, nullptr, 0);
  return before;
}

}  // namespace

GraphHeap::GraphHeap() {
  static const std::optional<unsigned> arena = makeArena();
  if (arena) before_ = enterArena(*arena);
}

GraphHeap::~GraphHeap() {
  if (before_) enterArena(*before_);
}

}  // namespace ipex_studio
