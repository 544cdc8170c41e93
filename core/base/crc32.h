// CRC-32 as ZIP uses it, at memory speed (core/decisions/010-checksums.md).
#pragma once

#include <cstddef>
#include <cstdint>

namespace ipex_studio {

// Continues `crc` (0 to begin) over the bytes; same values as zlib's crc32. Thread-safe.
std::uint32_t crc32Update(std::uint32_t crc, const void* data, std::size_t bytes);

}  // namespace ipex_studio
