// CRC-32 as ZIP uses it, at memory speed where the CPU multiplies without carries.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ipex_studio {

enum class CrcEngine {
  kBest,
  kNarrow,
  kPortable
};  // the CPU's widest products, those of 16 bytes, none; no more than it has

// Continues `crc` (0 to begin) over the bytes; same values as zlib's crc32.
std::uint32_t crc32Update(std::uint32_t crc, const void* data, std::size_t bytes, CrcEngine engine = CrcEngine::kBest);

}  // namespace ipex_studio
