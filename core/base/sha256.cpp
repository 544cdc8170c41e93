// SHA-256 in portable code and with the SHA instructions of x86 (FIPS 180-4).
#include "core/base/sha256.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <future>
#include <vector>

#include "core/base/error.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace ipex_studio {
namespace {

alignas(16) constexpr std::uint32_t kRound[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

std::uint32_t rotateRight(std::uint32_t x, int n) { return (x >> n) | (x << (32 - n)); }

void compressPortable(std::uint32_t* state, const std::uint8_t* block, std::size_t count) {
  for (; count > 0; --count, block += 64) {
    std::uint32_t w[64];
    for (int i = 0; i < 16; ++i) {
      w[i] = std::uint32_t{block[4 * i]} << 24 | std::uint32_t{block[4 * i + 1]} << 16 |
             std::uint32_t{block[4 * i + 2]} << 8 | block[4 * i + 3];
    }
    for (int i = 16; i < 64; ++i) {
      const std::uint32_t s0 = rotateRight(w[i - 15], 7) ^ rotateRight(w[i - 15], 18) ^ (w[i - 15] >> 3);
      const std::uint32_t s1 = rotateRight(w[i - 2], 17) ^ rotateRight(w[i - 2], 19) ^ (w[i - 2] >> 10);
      w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
    std::uint32_t v[8];
    std::copy(state, state + 8, v);
    // The eight words stay in place; the indices turn with each round instead.
#pragma GCC unroll 64
    for (int i = 0; i < 64; ++i) {
      const std::uint32_t a = v[(64 - i) & 7], b = v[(65 - i) & 7], c = v[(66 - i) & 7];
      const std::uint32_t e = v[(68 - i) & 7], f = v[(69 - i) & 7], g = v[(70 - i) & 7];
      std::uint32_t& d = v[(67 - i) & 7];
      std::uint32_t& h = v[(71 - i) & 7];
      const std::uint32_t t1 =
          h + (rotateRight(e, 6) ^ rotateRight(e, 11) ^ rotateRight(e, 25)) + ((e & f) ^ (~e & g)) + kRound[i] + w[i];
      d += t1;
      h = t1 + (rotateRight(a, 2) ^ rotateRight(a, 13) ^ rotateRight(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    }
    for (int i = 0; i < 8; ++i) state[i] += v[i];
  }
}

#if defined(__x86_64__)
// Four rounds per quarter turn; the message schedule runs three quarters ahead in registers m[0..3].
__attribute__((target("sha,sse4.1,ssse3"))) void compressShaNi(std::uint32_t* state, const std::uint8_t* block,
                                                               std::size_t count) {
  const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0bLL, 0x0405060700010203LL);
  __m128i abcd = _mm_loadu_si128(reinterpret_cast<const __m128i*>(state));
  __m128i efgh = _mm_loadu_si128(reinterpret_cast<const __m128i*>(state + 4));
  // The instructions want the state as (ABEF, CDGH).
  abcd = _mm_shuffle_epi32(abcd, 0xb1);
  efgh = _mm_shuffle_epi32(efgh, 0x1b);
  __m128i abef = _mm_alignr_epi8(abcd, efgh, 8);
  __m128i cdgh = _mm_blend_epi16(efgh, abcd, 0xf0);
  for (; count > 0; --count, block += 64) {
    const __m128i abef_before = abef;
    const __m128i cdgh_before = cdgh;
    __m128i m[4];
    for (int i = 0; i < 4; ++i) {
      m[i] = _mm_shuffle_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(block) + i), swap);
    }
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) {
      __m128i x = _mm_add_epi32(m[i % 4], _mm_load_si128(reinterpret_cast<const __m128i*>(kRound) + i));
      cdgh = _mm_sha256rnds2_epu32(cdgh, abef, x);
      abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(x, 0x0e));
      if (i < 12) {
        const __m128i older = _mm_sha256msg1_epu32(m[i % 4], m[(i + 1) % 4]);
        const __m128i middle = _mm_alignr_epi8(m[(i + 3) % 4], m[(i + 2) % 4], 4);
        m[i % 4] = _mm_sha256msg2_epu32(_mm_add_epi32(older, middle), m[(i + 3) % 4]);
      }
    }
    abef = _mm_add_epi32(abef, abef_before);
    cdgh = _mm_add_epi32(cdgh, cdgh_before);
  }
  const __m128i feba = _mm_shuffle_epi32(abef, 0x1b);
  const __m128i dchg = _mm_shuffle_epi32(cdgh, 0xb1);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(state), _mm_blend_epi16(feba, dchg, 0xf0));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(state + 4), _mm_alignr_epi8(dchg, feba, 8));
}
#endif

}  // namespace

bool cpuHasShaInstructions() {
#if defined(__x86_64__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(b & (1u << 29))) return false;
  return __get_cpuid(1, &a, &b, &c, &d) && (c & (1u << 19)) && (c & (1u << 9));
#else
  return false;
#endif
}

Sha256::Sha256(Engine engine)
    : compress_(compressPortable), state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                          0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19} {
#if defined(__x86_64__)
  if (engine == Engine::kBest && cpuHasShaInstructions()) compress_ = compressShaNi;
#endif
}

void Sha256::update(const void* data, std::size_t bytes) {
  const auto* src = static_cast<const std::uint8_t*>(data);
  total_bytes_ += bytes;
  if (pending_bytes_ > 0) {
    const std::size_t taken = std::min(bytes, pending_.size() - pending_bytes_);
    if (taken > 0) std::memcpy(pending_.data() + pending_bytes_, src, taken);
    pending_bytes_ += taken;
    src += taken;
    bytes -= taken;
    if (pending_bytes_ < pending_.size()) return;
    compress_(state_.data(), pending_.data(), 1);
    pending_bytes_ = 0;
  }
  compress_(state_.data(), src, bytes / 64);
  src += bytes / 64 * 64;
  pending_bytes_ = bytes % 64;
  if (pending_bytes_ > 0) std::memcpy(pending_.data(), src, pending_bytes_);
}

std::string Sha256::hex() {
  const std::uint64_t bits = total_bytes_ * 8;
  const std::uint8_t padding[72] = {0x80};
  std::uint8_t length[8];
  for (int i = 0; i < 8; ++i) length[i] = static_cast<std::uint8_t>(bits >> (56 - 8 * i));
  update(padding, 1 + (119 - total_bytes_ % 64) % 64);
  update(length, sizeof length);
  std::string text;
  for (std::uint32_t word : state_) {
    for (int shift = 28; shift >= 0; shift -= 4) text += "0123456789abcdef"[(word >> shift) & 15];
  }
  return text;
}

std::string sha256Hex(std::string_view bytes) {
  Sha256 digest;
  digest.update(bytes.data(), bytes.size());
  return digest.hex();
}

std::string sha256HexOfFile(int fd) {
  constexpr std::size_t kChunkBytes = 2 << 20;
  const auto readChunk = [fd](char* dst, off_t offset) {
    ssize_t got = 0;
    do {
      got = ::pread(fd, dst, kChunkBytes, offset);
    } while (got < 0 && errno == EINTR);
    if (got < 0) throw Error(ExitCode::kFailure, std::string("Reading the file failed: ") + std::strerror(errno) + ".");
    return static_cast<std::size_t>(got);
  };
  Sha256 digest;
  std::vector<char> current(kChunkBytes), next(kChunkBytes);
  off_t offset = 0;
  for (std::size_t bytes = readChunk(current.data(), 0); bytes > 0;) {
    offset += static_cast<off_t>(bytes);
    // The next chunk is copied while this one is digested; a short file needs no second thread.
    const auto policy = bytes == kChunkBytes ? std::launch::async : std::launch::deferred;
    std::future<std::size_t> reading = std::async(policy, readChunk, next.data(), offset);
    digest.update(current.data(), bytes);
    bytes = reading.get();
    current.swap(next);
  }
  return digest.hex();
}

}  // namespace ipex_studio
