// A slot for each thread, in which it looks first.
#include "kernels/torch/plans/arena_pool.h"

#include <memory>

#include "kernels/torch/plans/plan_cache_entry.h"

namespace ipex_studio {

ArenaPool::Arena::Arena(std::size_t bytes, int of_node) : memory(bytes), node(of_node) { plan_bytes += bytes; }

ArenaPool::Arena::~Arena() { plan_bytes -= memory.bytes(); }

ArenaPool::Arena* ArenaPool::take(std::size_t bytes, int node) {
  for (std::size_t i = 0, home = homeSlot(); i < kHomeSlots; ++i) {
    std::atomic<Arena*>& slot = idle_[(home + i) % kHomeSlots];
    if (slot.load(std::memory_order_relaxed) == nullptr) continue;
    Arena* const taken = slot.exchange(nullptr, std::memory_order_acquire);
    if (taken == nullptr) continue;
    if (taken->node == node && taken->memory.bytes() >= bytes) return taken;
    if (taken->node == node) {
      delete taken;  // before the larger one is allocated
      break;
    }
    giveBack(taken);
  }
  return new Arena(bytes, node);
}

void ArenaPool::giveBack(Arena* arena) {
  for (std::size_t i = 0, home = homeSlot(); i < kHomeSlots; ++i) {
    Arena* none = nullptr;
    if (idle_[(home + i) % kHomeSlots].compare_exchange_strong(none, arena, std::memory_order_release,
                                                               std::memory_order_relaxed))
      return;
  }
  delete arena;
}

void ArenaPool::trim() {
  for (std::atomic<Arena*>& slot : idle_) delete slot.exchange(nullptr, std::memory_order_acquire);
}

ArenaPool& arenaPool() {
  static auto& pool = *new ArenaPool;  // threads may run until the process ends
  return pool;
}

}  // namespace ipex_studio
