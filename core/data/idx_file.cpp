// Reader of IDX headers and elements through zlib.
#include "core/data/idx_file.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/error.h"

namespace ipex_studio {
namespace {

constexpr std::uint8_t kBytes = 0x08;  // element type: unsigned bytes
constexpr int kMaxDims = 4;
constexpr std::int64_t kMaxElements = std::int64_t{1} << 32;
constexpr unsigned kChunk = 1u << 20;

struct CloseGzip {
  void operator()(gzFile file) const { ::gzclose(file); }
};
using GzipFile = std::unique_ptr<gzFile_s, CloseGzip>;  // gzread() passes plain files through

bool read(const GzipFile& file, void* target, std::size_t count) {
  auto* bytes = static_cast<char*>(target);
  while (count > 0) {
    const int got = ::gzread(file.get(), bytes, static_cast<unsigned>(std::min<std::size_t>(count, kChunk)));
    if (got <= 0) return false;
    bytes += got;
    count -= static_cast<std::size_t>(got);
  }
  return true;
}

// Returns the number of dimensions, or 0 if the file does not begin as an IDX file of bytes.
int readMagic(const GzipFile& file) {
  std::array<std::uint8_t, 4> magic{};
  if (!file || !read(file, magic.data(), magic.size())) return 0;
  const bool known = magic[0] == 0 && magic[1] == 0 && magic[2] == kBytes && magic[3] >= 1 && magic[3] <= kMaxDims;
  return known ? magic[3] : 0;
}

}  // namespace

at::Tensor readIdx(const std::string& path) {
  const GzipFile file(::gzopen(path.c_str(), "rb"));
  if (!file) throw Error(ExitCode::kUsage, fmt::format("'{}' cannot be opened; give another file.", path));
  const int dims = readMagic(file);
  if (dims == 0) throw Error(ExitCode::kUsage, fmt::format("'{}' is no IDX file of bytes, as MNIST's are.", path));
  std::vector<std::int64_t> sizes;
  std::int64_t elements = 1;
  for (int i = 0; i < dims; ++i) {
    std::array<std::uint8_t, 4> big_endian{};
    std::int64_t size = 0;
    if (read(file, big_endian.data(), 4))
      for (const std::uint8_t byte : big_endian) size = size << 8 | byte;
    if (size == 0) throw Error(ExitCode::kUsage, fmt::format("'{}' is an IDX file without elements.", path));
    if (size > kMaxElements / elements)
      throw Error(ExitCode::kUsage, fmt::format("'{}' says it holds more than 4 GB.", path));
    sizes.push_back(size);
    elements *= size;
  }
  // Memory grows with the bytes that are really there, whatever the header claims.
  std::vector<at::Tensor> parts;
  for (std::int64_t left = elements; left > 0;) {
    const std::int64_t count = std::min<std::int64_t>(left, std::int64_t{64} << 20);
    parts.push_back(at::empty({count}, at::kByte));
    if (!read(file, parts.back().data_ptr(), static_cast<std::size_t>(count))) {
      throw Error(
          ExitCode::kUsage,
          fmt::format("'{}' is cut short: it announces {} bytes and ends before; fetch it again.", path, elements));
    }
    left -= count;
  }
  return (parts.size() == 1 ? parts.front() : at::cat(parts)).view(sizes);
}

bool isIdxFile(const std::string& path) {
  const GzipFile file(::gzopen(path.c_str(), "rb"));
  return readMagic(file) > 0;
}

}  // namespace ipex_studio
