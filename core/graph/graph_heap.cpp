#include "core/graph/graph_heap.h"

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "core/plan/jemalloc.h"

// jemalloc's interface, as its manual gives it under "arena.<i>.extent_hooks": what it calls for runs of pages.
extern "C" {
struct extent_hooks_s {
  void* (*alloc)(extent_hooks_s*, void* wanted, std::size_t size, std::size_t alignment, bool* zero, bool* commit, unsigned arena);
  bool (*dalloc)(extent_hooks_s*, void*, std::size_t size, bool committed, unsigned arena);
  void (*destroy)(extent_hooks_s*, void*, std::size_t size, bool committed, unsigned arena);
  bool (*commit)(extent_hooks_s*, void*, std::size_t size, std::size_t offset, std::size_t length, unsigned arena);
  bool (*decommit)(extent_hooks_s*, void*, std::size_t size, std::size_t offset, std::size_t length, unsigned arena);
  bool (*purge_lazy)(extent_hooks_s*, void*, std::size_t size, std::size_t offset, std::size_t length, unsigned arena);
  bool (*purge_forced)(extent_hooks_s*, void*, std::size_t size, std::size_t offset, std::size_t length, unsigned arena);
  bool (*split)(extent_hooks_s*, void*, std::size_t size, std::size_t size_a, std::size_t size_b, bool committed, unsigned arena);
  bool (*merge)(extent_hooks_s*, void* a, std::size_t size_a, void* b, std::size_t size_b, bool committed, unsigned arena);
};
}

namespace ipex_studio {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr std::size_t kChunkBytes = std::size_t{64} << 20;    // mapped at once, touched piece by piece
constexpr std::size_t kLargestExtent = std::size_t{8} << 20;  // what is larger is one allocation, a tensor's mostly

std::uintptr_t roundUp(std::uintptr_t address, std::size_t alignment) { return (address + alignment - 1) / alignment * alignment; }

// Nothing is ever unmapped, so extents of different mappings may be merged.
void* mapAligned(std::size_t size, std::size_t alignment) {
  const std::size_t mapped = size + alignment;
  void* memory = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  const std::uintptr_t aligned = roundUp(begin, alignment);
  if (aligned > begin) munmap(memory, aligned - begin);
  if (begin + mapped > aligned + size) munmap(reinterpret_cast<void*>(aligned + size), begin + mapped - aligned - size);
  return reinterpret_cast<void*>(aligned);
}

// Extents one behind the other, so that huge pages have no gaps.
class Chunks {
 public:
  void* allocate(std::size_t size, std::size_t alignment) {
    if (size > kLargestExtent) return mapAligned(size, alignment);
    const std::lock_guard<std::mutex> lock(mutex_);
    std::uintptr_t at = roundUp(next_, alignment);
    if (next_ == 0 || at + size > end_) {
      void* chunk = mapAligned(kChunkBytes, kHugePage);
      if (chunk == nullptr) return mapAligned(size, alignment);
      madvise(chunk, kChunkBytes, MADV_HUGEPAGE);  // where the system has none, small ones do
      at = roundUp(reinterpret_cast<std::uintptr_t>(chunk), alignment);
      end_ = reinterpret_cast<std::uintptr_t>(chunk) + kChunkBytes;
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

void* allocateExtent(extent_hooks_s*, void* wanted, std::size_t size, std::size_t alignment, bool* zero, bool* commit, unsigned) {
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
bool set(const std::string& name, T value) {
  return mallctl(name.c_str(), nullptr, nullptr, &value, sizeof(value)) == 0;
}

// The arena that lies on those chunks. It gives memory back only when told to.
std::optional<unsigned> makeArena() {
  if (mallctl == nullptr) return {};
  static extent_hooks_s hooks = {allocateExtent, keepExtent, nullptr, nullptr, nullptr, nullptr, purgeExtent, splitExtent, mergeExtents};
  extent_hooks_s* address = &hooks;
  unsigned arena = 0;
  std::size_t size = sizeof(arena);
  if (mallctl("arenas.create", &arena, &size, &address, sizeof(address)) != 0) return {};
  const std::string prefix = "arena." + std::to_string(arena);
  const bool ready = set(prefix + ".dirty_decay_ms", ssize_t{-1}) && set(prefix + ".muzzy_decay_ms", ssize_t{-1}) &&
                     set(prefix + ".retain_grow_limit", kLargestExtent);
  return ready ? std::optional<unsigned>(arena) : std::nullopt;
}

// Blocks that this thread holds in reserve are of the arena it leaves.
void enterArena(unsigned arena, unsigned* before) {
  std::size_t size = sizeof(*before);
  mallctl("thread.arena", before, &size, &arena, sizeof(arena));
  mallctl("thread.tcache.flush", nullptr, nullptr, nullptr, 0);
}

}  // namespace

GraphHeap::GraphHeap() {
  static const std::optional<unsigned> arena = makeArena();
  if (!arena) return;
  enterArena(*arena, &before_);
  entered_ = true;
}

GraphHeap::~GraphHeap() {
  unsigned ours = 0;
  if (entered_) enterArena(before_, &ours);
}

}  // namespace ipex_studio
