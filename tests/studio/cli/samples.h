// Data for tests: .npy files of images in the size that small.pt expects.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

namespace ipex_studio::testing {

constexpr int kElements = 3 * 8 * 8;

inline void writeNpy(const std::string& path, const char* descr, const std::string& shape, const std::string& bytes) {
  std::string header = std::string("{'descr': '") + descr + "', 'fortran_order': False, 'shape': " + shape + ", }";
  while ((10 + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  std::ofstream file(path, std::ios::binary);
  file.write("\x93NUMPY\x01\x00", 8);
  file.put(static_cast<char>(header.size() & 0xff)).put(static_cast<char>(header.size() >> 8));
  file << header << bytes;
}

// Makes the same numbers every time.
inline std::string samples(int count, float scale = 1) {
  std::vector<float> values(static_cast<std::size_t>(count) * kElements);
  std::uint32_t state = 1;
  for (float& value : values) {
    state = state * 1664525u + 1013904223u;
    value = scale * (static_cast<float>(state >> 8) / 8388608.f - 1);
  }
  return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
}

// Writes a file of `count` images; returns its path.
inline std::string writeSamples(const std::string& path, int count, float scale = 1) {
  writeNpy(path, "<f4", "(" + std::to_string(count) + ", 3, 8, 8)", samples(count, scale));
  return path;
}

}  // namespace ipex_studio::testing
