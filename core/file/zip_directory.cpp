// Parser of the end records, the central directory and the local headers of a ZIP archive.
#include "core/file/zip_directory.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>
#include <string_view>
#include <utility>

#include "core/base/error.h"

namespace ipex_studio {
namespace {

constexpr std::uint32_t kLocalSignature = 0x04034b50;
constexpr std::uint32_t kCentralSignature = 0x02014b50;
constexpr std::uint32_t kDescriptorSignature = 0x08074b50;
constexpr std::uint32_t kEndSignature = 0x06054b50;
constexpr std::uint32_t kEnd64Signature = 0x06064b50;
constexpr std::uint32_t kLocator64Signature = 0x07064b50;
constexpr std::size_t kLocalBytes = 30, kCentralBytes = 46, kEndBytes = 22, kEnd64Bytes = 56, kLocator64Bytes = 20;
constexpr std::uint16_t kHasDescriptor = 1 << 3;
constexpr std::uint16_t kAllowedFlags = kHasDescriptor | 1 << 11 /* UTF-8 */ | 3 << 1 /* deflate effort */;
constexpr std::uint64_t kIn64 = 0xffffffff;  // the real value stands in the ZIP64 record

std::uint64_t little(const char* bytes, int count) {
  std::uint64_t value = 0;
  for (int i = count - 1; i >= 0; --i) value = value << 8 | static_cast<std::uint8_t>(bytes[i]);
  return value;
}
std::uint16_t u16(const char* bytes) { return static_cast<std::uint16_t>(little(bytes, 2)); }
std::uint32_t u32(const char* bytes) { return static_cast<std::uint32_t>(little(bytes, 4)); }

[[noreturn]] void failUnsound(const std::string& path, const std::string& what) {
  throw Error(ExitCode::kBadModel,
              fmt::format("'{}' is not a sound ZIP archive: {}; copy or export the file again.", path, what));
}

// One member as the central directory describes it; the local header must repeat it.
struct Entry {
  ZipMember member;
  std::uint16_t version = 0, flags = 0, time = 0, date = 0;
};

// Parses the directory of one archive and cross-checks all of it.
class DirectoryParser {
 public:
  DirectoryParser(int fd, const std::string& path, std::uint64_t file_bytes, const ZipLimits& limits)
      : fd_(fd), path_(path), file_bytes_(file_bytes), limits_(limits) {}

  std::vector<ZipMember> parse(std::string* first_listed) {
    readEndRecords();
    readCentralDirectory();
    if (!entries_.empty()) *first_listed = entries_.front().member.name;
    std::sort(entries_.begin(), entries_.end(),
              [](const Entry& a, const Entry& b) { return a.member.header_offset < b.member.header_offset; });
    std::vector<ZipMember> members;
    members.reserve(entries_.size());
    std::uint64_t expected = 0;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      const std::uint64_t end = i + 1 < entries_.size() ? entries_[i + 1].member.header_offset : directory_offset_;
      if (entries_[i].member.header_offset != expected || end <= expected) {
        fail(fmt::format("member '{}' overlaps another or leaves a gap", entries_[i].member.name));
      }
      checkLocalHeader(&entries_[i], end);
      expected = end;
      members.push_back(std::move(entries_[i].member));
    }
    if (expected != directory_offset_) fail("there are bytes that belong to no member");
    return members;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { failUnsound(path_, what); }

  std::string readBytes(std::uint64_t offset, std::size_t bytes) const {
    if (offset > file_bytes_ || bytes > file_bytes_ - offset) fail("an offset lies outside the file");
    std::string data(bytes, '\0');
    readZipBytes(fd_, path_, offset, data.data(), bytes);
    return data;
  }

  void readEndRecords() {
    char magic[4] = {};
    if (file_bytes_ >= sizeof magic) readZipBytes(fd_, path_, 0, magic, sizeof magic);
    const bool starts_like_zip = u32(magic) == kLocalSignature || u32(magic) == kEndSignature;
    if (!starts_like_zip) throw Error(ExitCode::kBadModel, fmt::format("'{}' is not a ZIP archive.", path_));
    const std::string end = file_bytes_ >= kEndBytes ? readBytes(file_bytes_ - kEndBytes, kEndBytes) : std::string();
    if (end.empty() || u32(&end[0]) != kEndSignature) {
      throw Error(ExitCode::kBadModel,
                  fmt::format("'{}' is cut short or has bytes appended: no ZIP directory ends at its {} bytes; copy or "
                              "download it again.",
                              path_, file_bytes_));
    }
    if (u16(&end[4]) != 0 || u16(&end[6]) != 0) fail("it claims to span several disks");
    if (u16(&end[20]) != 0) fail("it claims a comment that is not there");
    entry_count_ = u16(&end[10]);
    directory_bytes_ = u32(&end[12]);
    directory_offset_ = u32(&end[16]);
    if (u16(&end[8]) != u16(&end[10])) fail("its two member counts differ");

    std::uint64_t directory_end = file_bytes_ - kEndBytes;
    const bool has_64 = readEnd64(&directory_end);
    const bool needs_64 = entry_count_ == 0xffff || directory_bytes_ == kIn64 || directory_offset_ == kIn64;
    if (needs_64 && !has_64) fail("its ZIP64 record is missing");
    if (directory_offset_ > directory_end || directory_bytes_ != directory_end - directory_offset_) {
      fail("its directory does not end where its end record begins");
    }
    if (entry_count_ > limits_.members) {
      fail(fmt::format("it lists {} members, more than the {} allowed", entry_count_, limits_.members));
    }
    if (entry_count_ * kCentralBytes > directory_bytes_) fail("its directory is too small for its member count");
  }

  // Reads the ZIP64 end record if there is one; its values must agree with those of the plain record.
  bool readEnd64(std::uint64_t* directory_end) {
    if (*directory_end < kLocator64Bytes + kEnd64Bytes) return false;
    const std::string locator = readBytes(*directory_end - kLocator64Bytes, kLocator64Bytes);
    if (u32(&locator[0]) != kLocator64Signature) return false;
    const std::uint64_t offset = *directory_end - kLocator64Bytes - kEnd64Bytes;
    if (little(&locator[8], 8) != offset || u32(&locator[4]) != 0 || u32(&locator[16]) != 1) {
      fail("its ZIP64 locator points elsewhere");
    }
    const std::string end = readBytes(offset, kEnd64Bytes);
    if (u32(&end[0]) != kEnd64Signature || little(&end[4], 8) != kEnd64Bytes - 12) fail("its ZIP64 record is broken");
    if (u32(&end[16]) != 0 || u32(&end[20]) != 0) fail("it claims to span several disks");
    const std::uint64_t count = little(&end[32], 8), bytes = little(&end[40], 8), begin = little(&end[48], 8);
    const bool agrees = (entry_count_ == 0xffff || entry_count_ == count) && little(&end[24], 8) == count &&
                        (directory_bytes_ == kIn64 || directory_bytes_ == bytes) &&
                        (directory_offset_ == kIn64 || directory_offset_ == begin);
    if (!agrees) fail("its ZIP64 record and its end record differ");
    entry_count_ = count;
    directory_bytes_ = bytes;
    directory_offset_ = begin;
    *directory_end = offset;
    return true;
  }

  void readCentralDirectory() {
    const std::string bytes = readBytes(directory_offset_, directory_bytes_);
    entries_.reserve(entry_count_);
    std::size_t at = 0;
    std::uint64_t inflated = 0;
    std::set<std::string> seen;
    for (std::uint64_t i = 0; i < entry_count_; ++i) {
      at = readCentralEntry(bytes, at);
      const ZipMember& member = entries_.back().member;
      std::string folded = member.name;
      for (char& c : folded) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
      if (!seen.insert(folded).second) {
        fail(fmt::format("two members are named '{}' (upper and lower case count as the same)", member.name));
      }
      if (member.method == kZipDeflated) inflated += member.bytes;
      if (inflated > limits_.inflated_bytes) {
        fail(fmt::format("its compressed members would grow beyond {} MB", limits_.inflated_bytes >> 20));
      }
    }
    if (at != bytes.size()) fail("its directory has bytes that belong to no member");
  }

  // Returns where the next entry begins.
  std::size_t readCentralEntry(const std::string& bytes, std::size_t at) {
    if (bytes.size() - at < kCentralBytes || u32(&bytes[at]) != kCentralSignature) fail("its directory is broken");
    const char* p = &bytes[at];
    const std::size_t name_bytes = u16(p + 28), extra_bytes = u16(p + 30), comment_bytes = u16(p + 32);
    if (bytes.size() - at - kCentralBytes < name_bytes + extra_bytes + comment_bytes) fail("its directory is broken");
    Entry entry;
    entry.member.name = bytes.substr(at + kCentralBytes, name_bytes);
    checkName(entry.member.name);
    entry.version = u16(p + 6);
    entry.flags = u16(p + 8);
    entry.member.method = u16(p + 10);
    entry.time = u16(p + 12);
    entry.date = u16(p + 14);
    entry.member.crc = u32(p + 16);
    entry.member.compressed_bytes = u32(p + 20);
    entry.member.bytes = u32(p + 24);
    entry.member.header_offset = u32(p + 42);
    if (u16(p + 34) != 0) fail(fmt::format("member '{}' claims to lie on another disk", entry.member.name));
    if (comment_bytes != 0) fail(fmt::format("member '{}' carries a comment", entry.member.name));
    readExtra(std::string_view(p + kCentralBytes + name_bytes, extra_bytes), entry.member.name,
              {&entry.member.bytes, &entry.member.compressed_bytes, &entry.member.header_offset});
    checkCentral(entry);
    entries_.push_back(std::move(entry));
    return at + kCentralBytes + name_bytes + extra_bytes;
  }

  void checkCentral(const Entry& entry) const {
    const ZipMember& member = entry.member;
    if (entry.flags & ~kAllowedFlags) fail(fmt::format("member '{}' is encrypted or patched", member.name));
    if (member.method != kZipStored && member.method != kZipDeflated) {
      fail(fmt::format("member '{}' is compressed by unknown method {}", member.name, member.method));
    }
    if (member.header_offset >= directory_offset_ ||
        member.compressed_bytes > directory_offset_ - member.header_offset) {
      fail(fmt::format("member '{}' declares {} bytes, more than the file has", member.name, member.compressed_bytes));
    }
    if (member.method == kZipStored && member.bytes != member.compressed_bytes) {
      fail(fmt::format("member '{}' declares two sizes", member.name));
    }
    // DEFLATE reaches 1032:1 at most.
    if (member.method == kZipDeflated && member.bytes / 1040 > member.compressed_bytes) {
      fail(fmt::format("member '{}' declares {} bytes, more than its data can hold", member.name, member.bytes));
    }
  }

  void checkName(const std::string& name) const {
    if (name.empty() || name.size() > limits_.name_bytes) fail("a member has no name or one that is far too long");
    for (unsigned char c : name) {
      if (c < 0x20 || c == 0x7f || c == '\\' || c == ':')
        fail("a member's name has characters that paths must not have");
    }
    for (std::size_t begin = 0; begin <= name.size();) {
      const std::size_t end = std::min(name.find('/', begin), name.size());
      const std::string part = name.substr(begin, end - begin);
      const bool folder_mark = part.empty() && begin == name.size() && begin > 0;
      if ((part.empty() && !folder_mark) || part == "." || part == "..") {
        fail(fmt::format("member '{}' would lie outside the archive's folder", name));
      }
      begin = end + 1;
    }
  }

  // Walks the extra fields; where a size or offset says "see ZIP64", replaces it from field 1.
  void readExtra(std::string_view extra, const std::string& name, std::vector<std::uint64_t*> values) const {
    while (extra.size() >= 4) {
      const std::size_t bytes = u16(extra.data() + 2);
      if (bytes > extra.size() - 4) fail(fmt::format("member '{}' has a broken extra field", name));
      std::size_t at = 4;
      for (std::uint64_t* value : u16(extra.data()) == 1 ? values : std::vector<std::uint64_t*>()) {
        if (*value != kIn64) continue;
        if (at + 8 > bytes + 4) fail(fmt::format("member '{}' has a broken ZIP64 field", name));
        *value = little(extra.data() + at, 8);
        at += 8;
      }
      extra.remove_prefix(bytes + 4);
    }
    if (!extra.empty()) fail(fmt::format("member '{}' has a broken extra field", name));
  }

  // `end` is where the next member or the directory begins: header, name, extra, data and descriptor must fill it all.
  void checkLocalHeader(Entry* entry, std::uint64_t end) const {
    ZipMember& member = entry->member;
    const std::uint64_t room = end - member.header_offset;
    if (room < kLocalBytes + member.name.size()) fail(fmt::format("member '{}' overlaps the next one", member.name));
    const std::size_t likely = std::min<std::uint64_t>(room, kLocalBytes + member.name.size() + 128);
    std::string header = readBytes(member.header_offset, likely);
    const std::size_t name_bytes = u16(&header[26]), extra_bytes = u16(&header[28]);
    std::uint64_t compressed = u32(&header[18]), bytes = u32(&header[22]);
    const bool same = u32(&header[0]) == kLocalSignature && u16(&header[4]) == entry->version &&
                      u16(&header[6]) == entry->flags && u16(&header[8]) == member.method &&
                      u16(&header[10]) == entry->time && u16(&header[12]) == entry->date &&
                      name_bytes == member.name.size() && header.compare(kLocalBytes, name_bytes, member.name) == 0;
    if (!same) fail(fmt::format("the header of member '{}' differs from the directory", member.name));

    const std::uint64_t head = kLocalBytes + name_bytes + extra_bytes;
    if (head > room || member.compressed_bytes > room - head) {
      fail(fmt::format("member '{}' overlaps the next one", member.name));
    }
    if (head > header.size()) header = readBytes(member.header_offset, head);
    readExtra(std::string_view(header).substr(kLocalBytes + name_bytes, extra_bytes), member.name,
              {&bytes, &compressed});
    const bool later = (entry->flags & kHasDescriptor) && u32(&header[14]) == 0 && compressed == 0 && bytes == 0;
    if (!later && (u32(&header[14]) != member.crc || compressed != member.compressed_bytes || bytes != member.bytes)) {
      fail(fmt::format("the header of member '{}' differs from the directory", member.name));
    }
    member.data_offset = member.header_offset + head;
    checkDescriptor(member, end - member.data_offset - member.compressed_bytes, entry->flags & kHasDescriptor);
  }

  // The record of CRC and sizes that may follow the data: 12 or 20 bytes, 4 more with its signature.
  void checkDescriptor(const ZipMember& member, std::uint64_t room, bool announced) const {
    if (!announced && room == 0) return;
    const bool fits = announced && (room == 12 || room == 16 || room == 20 || room == 24);
    if (!fits) fail(fmt::format("member '{}' is followed by bytes that belong to no member", member.name));
    const std::string bytes = readBytes(member.data_offset + member.compressed_bytes, room);
    const char* p = bytes.data();
    if (room == 16 || room == 24) {
      if (u32(p) != kDescriptorSignature) fail(fmt::format("member '{}' has a broken descriptor", member.name));
      p += 4;
    }
    const int width = room >= 20 ? 8 : 4;
    if (u32(p) != member.crc || little(p + 4, width) != member.compressed_bytes ||
        little(p + 4 + width, width) != member.bytes) {
      fail(fmt::format("the descriptor of member '{}' differs from the directory", member.name));
    }
  }

  int fd_;
  const std::string& path_;
  std::uint64_t file_bytes_;
  const ZipLimits& limits_;
  std::uint64_t entry_count_ = 0, directory_offset_ = 0, directory_bytes_ = 0;
  std::vector<Entry> entries_;
};

}  // namespace

void readZipBytes(int fd, const std::string& path, std::uint64_t offset, char* dst, std::size_t bytes) {
  while (bytes > 0) {
    const ssize_t got = ::pread(fd, dst, bytes, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw Error(ExitCode::kBadModel, fmt::format("Cannot read '{}': {}.", path, std::strerror(errno)));
    if (got == 0) failUnsound(path, "it ends before its directory says so");
    dst += got;
    offset += static_cast<std::uint64_t>(got);
    bytes -= static_cast<std::size_t>(got);
  }
}

std::vector<ZipMember> readZipDirectory(int fd, const std::string& path, std::uint64_t file_bytes,
                                        const ZipLimits& limits, std::string* first_listed) {
  return DirectoryParser(fd, path, file_bytes, limits).parse(first_listed);
}

}  // namespace ipex_studio
