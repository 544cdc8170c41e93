// Resident memory of this process.
#pragma once

#include <cstddef>
#include <fstream>

namespace ipex_studio {

// Bytes that are in memory now.
inline std::size_t residentBytes() {
  std::size_t pages = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  return resident * 4096;
}

}  // namespace ipex_studio
