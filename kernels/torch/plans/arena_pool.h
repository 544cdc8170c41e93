// ArenaPool: memory that the plans of all sizes and regions of the process share, since of a thread's plans one runs at
// a time. A size that comes for the first time then costs no memory and no page faults unless it is the largest so far.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>

#include "core/runtime/device.h"
#include "kernels/torch/plans/lookup.h"

namespace ipex_studio {

// Thread-safe; takes no lock. There are as many arenas as runs at the same time, each as large as the largest plan that
// ran in it. Threads of one memory node share arenas.
class ArenaPool {
 public:
  struct Arena {
    Arena(std::size_t bytes, int of_node);
    ~Arena();
    Arena(const Arena&) = delete;
    Arena& operator=(const Arena&) = delete;
    Buffer memory;
    int node;
  };

  // Memory of at least `bytes`, contents undefined; to be given back. Throws std::bad_alloc.
  Arena* take(std::size_t bytes, int node);
  void giveBack(Arena* arena);
  // Frees the arenas in which nothing runs.
  void trim();

 private:
  std::array<std::atomic<Arena*>, kHomeSlots> idle_{};
};

// Its arenas count in plan_bytes (plan_cache_entry.h).
ArenaPool& arenaPool();

}  // namespace ipex_studio
