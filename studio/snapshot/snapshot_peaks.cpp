// See snapshot_peaks.h.
#include "studio/snapshot/snapshot_peaks.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace ipex_studio {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kRounds = 3;
constexpr auto kRound = std::chrono::milliseconds(20);
constexpr std::size_t kMemoryBytes =
    std::size_t{192} << 20;  // bytes read from memory by all threads together; more than most last-level caches hold
constexpr std::size_t kCacheBytes = std::size_t{192} << 10;  // bytes read from cache by each thread
constexpr int kChains = 12;  // number of independent sums: enough for two units with a latency of five
constexpr int kSteps = 2000;

// A kernel that executes kSteps * kChains instructions. Its result keeps the compiler from leaving them out.
using ComputeKernel = float (*)(float seed);

#if defined(__x86_64__)
__attribute__((target("avx512f"))) float fmaAvx512(float seed) {
  __m512 sums[kChains];
  for (int c = 0; c < kChains; ++c) sums[c] = _mm512_set1_ps(seed + static_cast<float>(c));
  const __m512 factor = _mm512_set1_ps(0.999F), addend = _mm512_set1_ps(1e-3F);
  for (int i = 0; i < kSteps; ++i) {
#pragma GCC unroll 12
    for (int c = 0; c < kChains; ++c) sums[c] = _mm512_fmadd_ps(sums[c], factor, addend);
  }
  for (int c = 1; c < kChains; ++c) sums[0] = _mm512_add_ps(sums[0], sums[c]);
  std::array<float, 16> lanes{};
  _mm512_storeu_ps(lanes.data(), sums[0]);
  return lanes[0];
}

__attribute__((target("avx512f,avx512bf16"))) float dotBf16(float seed) {
  __m512 sums[kChains];
  for (int c = 0; c < kChains; ++c) sums[c] = _mm512_set1_ps(seed + static_cast<float>(c));
  const __m512bh a = _mm512_cvtne2ps_pbh(_mm512_set1_ps(1e-3F), _mm512_set1_ps(1e-3F));
  for (int i = 0; i < kSteps; ++i) {
#pragma GCC unroll 12
    for (int c = 0; c < kChains; ++c) sums[c] = _mm512_dpbf16_ps(sums[c], a, a);
  }
  for (int c = 1; c < kChains; ++c) sums[0] = _mm512_add_ps(sums[0], sums[c]);
  std::array<float, 16> lanes{};
  _mm512_storeu_ps(lanes.data(), sums[0]);
  return lanes[0];
}

__attribute__((target("avx512f,avx512vnni"))) float dotInt8(float seed) {
  __m512i sums[kChains];
  for (int c = 0; c < kChains; ++c) sums[c] = _mm512_set1_epi32(static_cast<int>(seed) + c);
  const __m512i a = _mm512_set1_epi32(0x01010101);
  for (int i = 0; i < kSteps; ++i) {
#pragma GCC unroll 12
    for (int c = 0; c < kChains; ++c) sums[c] = _mm512_dpbusd_epi32(sums[c], a, a);
  }
  for (int c = 1; c < kChains; ++c) sums[0] = _mm512_add_epi32(sums[0], sums[c]);
  std::array<std::int32_t, 16> lanes{};
  _mm512_storeu_si512(lanes.data(), sums[0]);
  return static_cast<float>(lanes[0]);
}

__attribute__((target("avx2,fma"))) float fmaAvx2(float seed) {
  __m256 sums[kChains];
  for (int c = 0; c < kChains; ++c) sums[c] = _mm256_set1_ps(seed + static_cast<float>(c));
  const __m256 factor = _mm256_set1_ps(0.999F), addend = _mm256_set1_ps(1e-3F);
  for (int i = 0; i < kSteps; ++i) {
#pragma GCC unroll 12
    for (int c = 0; c < kChains; ++c) sums[c] = _mm256_fmadd_ps(sums[c], factor, addend);
  }
  for (int c = 1; c < kChains; ++c) sums[0] = _mm256_add_ps(sums[0], sums[c]);
  std::array<float, 8> lanes{};
  _mm256_storeu_ps(lanes.data(), sums[0]);
  return lanes[0];
}

__attribute__((target("avx2"))) std::uint64_t readAvx2(const std::uint64_t* data, std::size_t count) {
  __m256i sums[4] = {};
  for (std::size_t i = 0; i + 16 <= count; i += 16) {
#pragma GCC unroll 4
    for (int c = 0; c < 4; ++c)
      sums[c] = _mm256_add_epi64(sums[c], _mm256_loadu_si256(reinterpret_cast<const __m256i*>(data + i + c * 4)));
  }
  std::array<std::uint64_t, 4> lanes{};
  for (int c = 1; c < 4; ++c) sums[0] = _mm256_add_epi64(sums[0], sums[c]);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(lanes.data()), sums[0]);
  return lanes[0] + lanes[1] + lanes[2] + lanes[3];
}
#endif

float fmaPlain(float seed) {
  std::array<float, kChains> sums{};
  for (int c = 0; c < kChains; ++c) sums[static_cast<std::size_t>(c)] = seed + static_cast<float>(c);
  for (int i = 0; i < kSteps; ++i) {
    for (float& sum : sums) sum = sum * 0.999F + 1e-3F;
  }
  return sums[0] + sums[kChains - 1];
}

std::uint64_t readPlain(const std::uint64_t* data, std::size_t count) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += data[i];
  return sum;
}

std::uint64_t readAll(const std::uint64_t* data, std::size_t count) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) return readAvx2(data, count);
#endif
  return readPlain(data, count);
}

std::atomic<std::uint64_t> kept_result{0};

// The most work per second of all threads together, of several tries. `work(thread)` returns the amount of work done.
double best(std::int32_t threads, const std::function<double(std::int32_t)>& work) {
  double most = 0;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<double> rate(static_cast<std::size_t>(threads), 0);
    std::vector<std::thread> team;
    std::atomic<std::int32_t> waiting{threads};
    for (std::int32_t t = 0; t < threads; ++t) {
      team.emplace_back([&, t] {
        work(t);  // touches the pages and lets the clock rise
        for (--waiting; waiting > 0;) std::this_thread::yield();
        const auto begin = Clock::now();
        double done = 0;
        while (Clock::now() - begin < kRound) done += work(t);
        rate[static_cast<std::size_t>(t)] = done / std::chrono::duration<double>(Clock::now() - begin).count();
      });
    }
    for (std::thread& thread : team) thread.join();
    double sum = 0;
    for (const double r : rate) sum += r;
    most = std::max(most, sum);
  }
  return most;
}

// Peak of a kernel in operations per second. `operations`: number that one instruction does.
double bestCompute(std::int32_t threads, ComputeKernel kernel, double operations) {
  return best(threads,
              [&](std::int32_t t) {
                std::uint32_t bits = 0;
                const float result = kernel(static_cast<float>(t));
                std::memcpy(&bits, &result, sizeof bits);
                kept_result.fetch_xor(bits, std::memory_order_relaxed);
                return operations * kSteps * kChains;
              }) /
         1e9;
}

double bestRead(std::int32_t threads, std::size_t bytes_each) {
  std::vector<std::vector<std::uint64_t>> data(static_cast<std::size_t>(threads),
                                               std::vector<std::uint64_t>(bytes_each / 8, 1));
  return best(threads,
              [&](std::int32_t t) {
                const auto& own = data[static_cast<std::size_t>(t)];
                kept_result.fetch_xor(readAll(own.data(), own.size()), std::memory_order_relaxed);
                return static_cast<double>(own.size() * 8);
              }) /
         1e9;
}

MachinePeaks measure(std::int32_t threads) {
  MachinePeaks peaks;
  peaks.threads = threads;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) {
    peaks.fp32_gflops = bestCompute(threads, fmaAvx512, 32);
    if (__builtin_cpu_supports("avx512bf16")) peaks.bf16_gflops = bestCompute(threads, dotBf16, 64);
    if (__builtin_cpu_supports("avx512vnni")) peaks.int8_gops = bestCompute(threads, dotInt8, 128);
  } else if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    peaks.fp32_gflops = bestCompute(threads, fmaAvx2, 16);
  }
#endif
  if (peaks.fp32_gflops <= 0) peaks.fp32_gflops = bestCompute(threads, fmaPlain, 2);
  peaks.memory_gb_s = bestRead(threads, kMemoryBytes / static_cast<std::size_t>(threads));
  peaks.cache_gb_s = bestRead(threads, kCacheBytes);
  return peaks;
}

}  // namespace

double MachinePeaks::roof(const std::string& precision) const {
  if (precision == "bf16" && bf16_gflops > 0) return bf16_gflops;
  if (precision == "int8" && int8_gops > 0) return int8_gops;
  return fp32_gflops;
}

MachinePeaks measurePeaks(std::int32_t threads) {
  static std::mutex mutex;
  static std::map<std::int32_t, MachinePeaks> known;
  threads = std::clamp(threads, 1, 1024);
  const std::lock_guard lock(mutex);
  const auto found = known.find(threads);
  if (found != known.end()) return found->second;
  return known.emplace(threads, measure(threads)).first->second;
}

}  // namespace ipex_studio
