// Reads and verifies members, stored or inflated, chunk by chunk.
#include "core/file/zip_reader.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/base/crc32.h"
#include "core/base/error.h"
#include "core/file/zip_directory.h"

namespace ipex_studio {
namespace {

constexpr std::size_t kChunkBytes = 256 << 10;

[[noreturn]] void failMember(const std::string& path, const std::string& name, const std::string& what) {
  throw Error(ExitCode::kBadModel,
              fmt::format("'{}' is damaged: member '{}' {}; copy or export the file again.", path, name, what));
}

class Inflater {
 public:
  Inflater() { IPEX_CHECK(inflateInit2(&stream_, -MAX_WBITS) == Z_OK, "zlib starts"); }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  z_stream& stream() { return stream_; }

 private:
  z_stream stream_{};
};

}  // namespace

ZipReader::ZipReader(int fd, std::string path, ZipLimits limits) : fd_(fd), path_(std::move(path)) {
  struct stat status {};
  if (::fstat(fd_, &status) != 0) {
    throw Error(ExitCode::kBadModel, fmt::format("Cannot read '{}': {}.", path_, std::strerror(errno)));
  }
  file_bytes_ = static_cast<std::uint64_t>(status.st_size);
  members_ = readZipDirectory(fd_, path_, file_bytes_, limits, &first_listed_);
  for (std::size_t i = 0; i < members_.size(); ++i) by_name_[members_[i].name] = i;
}

const ZipMember* ZipReader::find(const std::string& name) const {
  const auto it = by_name_.find(name);
  return it == by_name_.end() ? nullptr : &members_[it->second];
}

// Hands the inflated contents to sink(const char*, size) piece by piece, never more than member.bytes in all.
template <typename Sink>
void ZipReader::stream(const ZipMember& member, Sink sink) const {
  std::string in(std::min<std::uint64_t>(kChunkBytes, std::max<std::uint64_t>(member.compressed_bytes, 1)), '\0');
  std::string out(member.method == kZipDeflated ? kChunkBytes : 0, '\0');
  std::uint32_t crc = 0;
  std::uint64_t produced = 0;
  const auto deliver = [&](const char* data, std::size_t bytes) {
    if (bytes > member.bytes - produced) failMember(path_, member.name, "inflates to more than its declared size");
    crc = crc32Update(crc, data, bytes);
    produced += bytes;
    sink(data, bytes);
  };
  Inflater inflater;
  int state = member.method == kZipDeflated ? Z_OK : Z_STREAM_END;
  unsigned last_byte = 0;
  for (std::uint64_t done = 0; done < member.compressed_bytes;) {
    const std::size_t bytes = std::min<std::uint64_t>(in.size(), member.compressed_bytes - done);
    readZipBytes(fd_, path_, member.data_offset + done, in.data(), bytes);
    done += bytes;
    if (member.method == kZipStored) {
      deliver(in.data(), bytes);
      continue;
    }
    z_stream& z = inflater.stream();
    z.next_in = reinterpret_cast<Bytef*>(in.data());
    z.avail_in = static_cast<uInt>(bytes);
    bool last_block_done = false;
    do {
      z.next_out = reinterpret_cast<Bytef*>(out.data());
      z.avail_out = static_cast<uInt>(out.size());
      state = state == Z_OK ? inflate(&z, Z_BLOCK) : Z_DATA_ERROR;
      if (state == Z_BUF_ERROR) state = Z_OK;  // zlib only wants more input
      if (state != Z_OK && state != Z_STREAM_END) failMember(path_, member.name, "holds broken compressed data");
      deliver(out.data(), out.size() - z.avail_out);
      if (z.next_in > reinterpret_cast<Bytef*>(in.data())) last_byte = z.next_in[-1];
      // zlib tells the end of the last block and how many bits of its last byte are unused: writers leave them zero.
      last_block_done = (z.data_type & 192) == 192;
      if (last_block_done && (last_byte >> (8 - (z.data_type & 7)) & 0xff) != 0) {
        failMember(path_, member.name, "holds broken compressed data");
      }
    } while (z.avail_in > 0 || (state == Z_OK && (z.avail_out == 0 || last_block_done)));
  }
  if (state != Z_STREAM_END || produced != member.bytes) {
    failMember(path_, member.name, fmt::format("holds {} bytes instead of {}", produced, member.bytes));
  }
  if (crc != member.crc) {
    failMember(path_, member.name,
               fmt::format("fails its CRC check (declared {:08x}, contents {:08x})", member.crc, crc));
  }
}

std::string ZipReader::read(const ZipMember& member, std::uint64_t max_bytes) const {
  if (member.bytes > max_bytes) {
    failMember(path_, member.name,
               fmt::format("has {} bytes, more than the {} allowed for it", member.bytes, max_bytes));
  }
  std::string contents;
  contents.reserve(member.bytes);
  stream(member, [&](const char* data, std::size_t bytes) { contents.append(data, bytes); });
  return contents;
}

void ZipReader::verify(const ZipMember& member) const {
  stream(member, [](const char*, std::size_t) {});
}

}  // namespace ipex_studio
