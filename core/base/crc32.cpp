#include "core/base/crc32.h"

#include <zlib.h>

#include <algorithm>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace ipex_studio {
namespace {

#if defined(__x86_64__)
// x^n modulo the polynomial, reflected, for n = 32 bits more and less than the distance that is folded by.
constexpr long long kBy64High = 0x01c6e41596, kBy64Low = 0x0154442bd4;
constexpr long long kBy256High = 0x01322d1430, kBy256Low = 0x011542778a;

__attribute__((target("pclmul,sse4.1"))) inline __m128i fold(__m128i x, __m128i factors, __m128i next) {
  const __m128i low = _mm_clmulepi64_si128(x, factors, 0x00);
  const __m128i high = _mm_clmulepi64_si128(x, factors, 0x11);
  return _mm_xor_si128(_mm_xor_si128(low, high), next);
}

__attribute__((target("pclmul,sse4.1"))) inline __m128i load(const std::uint8_t* data) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(data));
}

// Folding by 64, then 16 bytes, then Barrett reduction (Gopal et al., "Fast CRC Computation for Generic Polynomials
// Using PCLMULQDQ", 2009), bit-reflected. x: the 64 bytes before `data`, folded so far; `bytes` is a multiple of 16.
__attribute__((target("pclmul,sse4.1"))) std::uint32_t reduceFolded(__m128i* x, const std::uint8_t* data,
                                                                    std::size_t bytes) {
  const __m128i by_64 = _mm_set_epi64x(kBy64High, kBy64Low);
  const __m128i by_16 = _mm_set_epi64x(0x00ccaa009e, 0x01751997d0);
  const __m128i by_8 = _mm_set_epi64x(0, 0x0163cd6124);
  const __m128i polynomial = _mm_set_epi64x(0x01f7011641, 0x01db710641);
  const __m128i low_words = _mm_setr_epi32(~0, 0, ~0, 0);

  for (; bytes >= 64; data += 64, bytes -= 64) {
    for (int i = 0; i < 4; ++i) x[i] = fold(x[i], by_64, load(data + 16 * i));
  }
  __m128i sum = x[0];
  for (int i = 1; i < 4; ++i) sum = fold(sum, by_16, x[i]);
  for (; bytes >= 16; data += 16, bytes -= 16) sum = fold(sum, by_16, load(data));

  sum = _mm_xor_si128(_mm_srli_si128(sum, 8), _mm_clmulepi64_si128(sum, by_16, 0x10));
  sum = _mm_xor_si128(_mm_srli_si128(sum, 4), _mm_clmulepi64_si128(_mm_and_si128(sum, low_words), by_8, 0x00));
  __m128i quotient = _mm_clmulepi64_si128(_mm_and_si128(sum, low_words), polynomial, 0x10);
  quotient = _mm_clmulepi64_si128(_mm_and_si128(quotient, low_words), polynomial, 0x00);
  return static_cast<std::uint32_t>(_mm_extract_epi32(_mm_xor_si128(sum, quotient), 1));
}

// `bytes` is a multiple of 16 and at least 64; crc before the final inversion.
__attribute__((target("pclmul,sse4.1"))) std::uint32_t crcFolded(std::uint32_t crc, const std::uint8_t* data,
                                                                 std::size_t bytes) {
  __m128i x[4];
  for (int i = 0; i < 4; ++i) x[i] = load(data + 16 * i);
  x[0] = _mm_xor_si128(x[0], _mm_cvtsi32_si128(static_cast<int>(crc)));
  return reduceFolded(x, data + 64, bytes - 64);
}

__attribute__((target("vpclmulqdq,avx512f"))) inline __m512i foldWide(__m512i x, __m512i factors, __m512i next) {
  constexpr int kXor = 0x96;
  return _mm512_ternarylogic_epi64(_mm512_clmulepi64_epi128(x, factors, 0x00),
                                   _mm512_clmulepi64_epi128(x, factors, 0x11), next, kXor);
}

// The same by 256 bytes at first: the narrow products keep up with the caches, not with memory. At least 256 bytes.
__attribute__((target("vpclmulqdq,avx512f"))) std::uint32_t crcFoldedWide(std::uint32_t crc, const std::uint8_t* data,
                                                                          std::size_t bytes) {
  const __m512i by_256 =
      _mm512_set_epi64(kBy256High, kBy256Low, kBy256High, kBy256Low, kBy256High, kBy256Low, kBy256High, kBy256Low);
  const __m512i by_64 =
      _mm512_set_epi64(kBy64High, kBy64Low, kBy64High, kBy64Low, kBy64High, kBy64Low, kBy64High, kBy64Low);
  __m512i x[4];
  for (int i = 0; i < 4; ++i) x[i] = _mm512_loadu_si512(data + 64 * i);
  x[0] = _mm512_xor_si512(x[0], _mm512_set_epi64(0, 0, 0, 0, 0, 0, 0, crc));
  for (data += 256, bytes -= 256; bytes >= 256; data += 256, bytes -= 256) {
    for (int i = 0; i < 4; ++i) x[i] = foldWide(x[i], by_256, _mm512_loadu_si512(data + 64 * i));
  }
  for (int i = 0; i < 3; ++i) x[i + 1] = foldWide(x[i], by_64, x[i + 1]);
  alignas(64) __m128i last[4];
  _mm512_store_si512(last, x[3]);
  return reduceFolded(last, data, bytes);
}
#endif

}  // namespace

std::uint32_t crc32Update(std::uint32_t crc, const void* data, std::size_t bytes, [[maybe_unused]] CrcEngine engine) {
  const auto* src = static_cast<const std::uint8_t*>(data);
#if defined(__x86_64__)
  static const bool has_pclmul = __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1");
  static const bool has_wide = has_pclmul && __builtin_cpu_supports("vpclmulqdq") && __builtin_cpu_supports("avx512f");
  if (has_pclmul && bytes >= 64 && engine != CrcEngine::kPortable) {
    const std::size_t whole = bytes / 16 * 16;
    crc = ~(has_wide && whole >= 256 && engine == CrcEngine::kBest ? crcFoldedWide(~crc, src, whole)
                                                                   : crcFolded(~crc, src, whole));
    src += whole;
    bytes -= whole;
  }
#endif
  while (bytes > 0) {
    const std::size_t part = std::min<std::size_t>(bytes, 1u << 30);
    crc = static_cast<std::uint32_t>(::crc32(crc, src, static_cast<uInt>(part)));
    src += part;
    bytes -= part;
  }
  return crc;
}

}  // namespace ipex_studio
