// One way to share loops among OpenMP threads, and the scope that tells oneDNN how many threads will execute.
#pragma once

#include <omp.h>

#include <algorithm>
#include <cstdint>
#if defined(IPEX_STUDIO_STD_THREADS)
#include <thread>
#include <vector>
#endif

namespace ipex_studio {

// Scalar operations (loads, arithmetic) that are worth waking another thread for: about 10 µs of one core.
#if defined(IPEX_STUDIO_STD_THREADS)
constexpr std::int64_t kParallelGrainOps = 64;  // small, so that threads share the small sizes of tests, too
#else
constexpr std::int64_t kParallelGrainOps = 32768;
#endif

// Number of items of `ops_per_item` scalar operations each from which a thread's share is worth waking it for.
inline std::int64_t grainFor(std::int64_t ops_per_item) {
  return std::max<std::int64_t>(1, kParallelGrainOps / std::max<std::int64_t>(1, ops_per_item));
}

// Calls fn(begin, end, thread) on disjoint ranges that cover [0, count), on at most `threads` threads, each with at
// least `grain` items. thread < threads. Runs in the caller when one thread is enough or when already inside a
// parallel region. fn must not throw.
#if defined(IPEX_STUDIO_STD_THREADS)
// The version for the thread sanitizer, which cannot see how libgomp's threads wait for each other.
template <typename Fn>
void parallelFor(std::int64_t count, std::int64_t grain, std::int32_t threads, const Fn& fn) {
  if (count <= 0) return;
  thread_local bool inside = false;
  const std::int64_t shares =
      inside ? 1 : std::max<std::int64_t>(1, std::min<std::int64_t>(threads, (count + grain - 1) / grain));
  const auto share = [&](std::int64_t thread) {
    const bool outer = inside;
    inside = true;
    const std::int64_t begin = count * thread / shares, end = count * (thread + 1) / shares;
    if (begin < end) fn(begin, end, static_cast<int>(thread));
    inside = outer;
  };
  std::vector<std::thread> team;
  for (std::int64_t thread = 1; thread < shares; ++thread) team.emplace_back(share, thread);
  share(0);
  for (std::thread& thread : team) thread.join();
}
#else
template <typename Fn>
void parallelFor(std::int64_t count, std::int64_t grain, std::int32_t threads, const Fn& fn) {
  if (count <= 0) return;
  const std::int64_t shares = std::min<std::int64_t>(threads, (count + grain - 1) / grain);
  if (shares <= 1 || omp_in_parallel()) {
    fn(std::int64_t{0}, count, 0);
    return;
  }
  // The whole team starts even if only `shares` of its threads have work: libgomp ends the threads that a smaller team
  // leaves over and makes new ones for the next larger team, which costs about 100 µs each.
#pragma omp parallel num_threads(threads)
  {
    const std::int64_t team = std::min<std::int64_t>(shares, omp_get_num_threads());
    const std::int64_t thread = omp_get_thread_num();
    const std::int64_t begin = count * thread / team;
    const std::int64_t end = count * (thread + 1) / team;
    if (thread < team && begin < end) fn(begin, end, static_cast<int>(thread));
  }
}
#endif

// Makes omp_get_max_threads() of this thread return `threads` for as long as it lives: oneDNN plans its work for that
// number.
class ThreadCountScope {
 public:
  explicit ThreadCountScope(std::int32_t threads) : before_(omp_get_max_threads()) { set(threads); }
  ~ThreadCountScope() { set(before_); }
  ThreadCountScope(const ThreadCountScope&) = delete;
  ThreadCountScope& operator=(const ThreadCountScope&) = delete;

 private:
  static void set(int threads) {
#if defined(IPEX_STUDIO_STD_THREADS)
    omp_set_num_threads(1);
#else
    omp_set_num_threads(threads);
#endif
  }

  int before_;
};

}  // namespace ipex_studio
