// CRC-32 through ISA-L.
#include "core/base/crc32.h"

#include <isa-l/crc.h>

namespace ipex_studio {

std::uint32_t crc32Update(std::uint32_t crc, const void* data, std::size_t bytes) {
  return crc32_gzip_refl(crc, static_cast<const unsigned char*>(data), bytes);
}

}  // namespace ipex_studio
