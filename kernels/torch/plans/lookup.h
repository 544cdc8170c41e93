// Parts of tables that threads read without a lock: hashes, a place for each thread, readers that a writer waits for.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>

namespace ipex_studio {

constexpr std::size_t kHomeSlots = 64;

// A small number per thread, below kHomeSlots: where it looks first in what threads share, so that it finds what its
// caches know. Threads beyond that many share numbers.
inline std::size_t homeSlot() {
  static std::atomic<std::size_t> next{0};
  thread_local const std::size_t home = next.fetch_add(1, std::memory_order_relaxed);
  return home % kHomeSlots;
}

inline void mix(std::uint64_t& hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
  hash ^= hash >> 29;
}

// Threads that look something up in what a writer may replace. The writer publishes the new one, waits for the readers
// and then frees the old one. Sequentially consistent on purpose: a reader that the writer did not see comes after the
// new one. Threads count on cache lines of their own, so readers do not slow each other down.
class Readers {
 public:
  // One look-up; short, without a lock or anything else that waits.
  class Guard {
   public:
    explicit Guard(Readers& readers) : count_(readers.counts_[homeSlot()].value) { count_.fetch_add(1); }
    ~Guard() { count_.fetch_sub(1); }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

   private:
    std::atomic<std::int32_t>& count_;
  };

  // Returns when all look-ups that began before it have ended.
  void waitUntilGone() const {
    for (const Count& count : counts_) {
      while (count.value.load() != 0) std::this_thread::yield();
    }
  }

 private:
  struct alignas(64) Count {
    std::atomic<std::int32_t> value{0};
  };
  std::array<Count, kHomeSlots> counts_;
};

}  // namespace ipex_studio
