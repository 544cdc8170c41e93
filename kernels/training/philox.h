// Philox 4x32-10 (J. Salmon et al.: Parallel random numbers: as easy as 1, 2, 3, 2011): random words as a function of a
// key and a counter.
#pragma once

#include <cstdint>

namespace ipex_studio {

constexpr int kPhiloxRounds = 10;
constexpr std::uint32_t kPhiloxFactors[] = {0xd2511f53u, 0xcd9e8d57u};
constexpr std::uint32_t kPhiloxKeySteps[] = {0x9e3779b9u, 0xbb67ae85u};

// The words of a counter below 2⁶⁴.
inline void philoxWords(std::uint64_t key, std::uint64_t counter, std::uint32_t* words) {
  std::uint32_t k[] = {static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32u)};
  std::uint32_t c[] = {static_cast<std::uint32_t>(counter), static_cast<std::uint32_t>(counter >> 32u), 0, 0};
  for (int round = 0; round < kPhiloxRounds; ++round) {
    const std::uint64_t a = std::uint64_t{kPhiloxFactors[0]} * c[0], b = std::uint64_t{kPhiloxFactors[1]} * c[2];
    c[0] = static_cast<std::uint32_t>(b >> 32u) ^ c[1] ^ k[0];
    c[2] = static_cast<std::uint32_t>(a >> 32u) ^ c[3] ^ k[1];
    c[1] = static_cast<std::uint32_t>(b);
    c[3] = static_cast<std::uint32_t>(a);
    for (int i = 0; i < 2; ++i) k[i] += kPhiloxKeySteps[i];
  }
  for (int i = 0; i < 4; ++i) words[i] = c[i];
}

}  // namespace ipex_studio
