// ZipReader: a suspicious reader of ZIP archives as PyTorch writes them.
//
// A file is accepted only if every byte is accounted for: members lie back to back from offset 0, then follow the
// central directory and the end records, and facts that are stored twice (local header, central directory, data
// descriptor, ZIP64 record) agree. Another reader therefore cannot find a different archive in the same bytes, and no
// bit that matters can flip unseen. Names are relative, plain, and unique even if case is ignored, because libtorch
// ignores it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace ipex_studio {

struct ZipMember {
  std::string name;
  std::uint64_t header_offset = 0;  // of its local header
  std::uint64_t data_offset = 0;
  std::uint64_t compressed_bytes = 0;  // in the file
  std::uint64_t bytes = 0;             // once inflated
  std::uint32_t crc = 0;
  std::uint16_t method = 0;  // 0 stored, 8 deflated
};

struct ZipLimits {
  std::size_t members = 50000;
  std::size_t name_bytes = 1024;
  std::uint64_t inflated_bytes = 512u << 20;  // sum over all deflated members
};

// Reads with pread, so the descriptor's position stays and several readers may share one descriptor. Const functions
// are thread-safe. Every complaint is Error(kBadModel) that names `path` and, where it can, the member.
class ZipReader {
 public:
  // The descriptor must stay open as long as the reader lives; it is not closed.
  ZipReader(int fd, std::string path, ZipLimits limits = {});

  const std::vector<ZipMember>& members() const { return members_; }  // in the order of their place in the file
  const std::string& firstListed() const { return first_listed_; }    // first name of the central directory
  const ZipMember* find(const std::string& name) const;               // nullptr when there is none
  std::uint64_t fileBytes() const { return file_bytes_; }

  // Returns the contents, checked against size and CRC. Refuses members larger than `max_bytes` before it allocates.
  std::string read(const ZipMember& member, std::uint64_t max_bytes) const;
  // Checks size and CRC without keeping the contents.
  void verify(const ZipMember& member) const;

 private:
  template <typename Sink>
  void stream(const ZipMember& member, Sink sink) const;

  int fd_;
  std::string path_;
  std::uint64_t file_bytes_ = 0;
  std::string first_listed_;
  std::vector<ZipMember> members_;
  std::map<std::string, std::size_t> by_name_;
};

}  // namespace ipex_studio
