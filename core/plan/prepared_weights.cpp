// Writes, checks, maps and reads files of prepared weights.
#include "core/plan/prepared_weights.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/base/crc32.h"
#include "core/base/error.h"
#include "core/base/huge_pages.h"
#include "core/base/sha256.h"
#include "core/record/records_json.h"

namespace ipex_studio {
namespace {

constexpr std::uint32_t kPreparedSchema = 1;  // to be raised also when a kernel packs other bytes under the same form
constexpr std::uint64_t kFilePage = 4096, kWeightAlignment = 64;
constexpr std::uint64_t kMaxTableBytes = 64u << 20;

struct PreparedHeader {
  char magic[8] = {'i', 'p', 'e', 'x', 'w', 't', 's', '\n'};
  std::uint32_t schema = kPreparedSchema;
  std::uint32_t table_crc = 0;
  std::uint64_t table_bytes = 0;
  std::uint64_t file_bytes = 0;
};
static_assert(sizeof(PreparedHeader) == 32);

void writeAt(int fd, const void* data, std::size_t bytes, std::uint64_t at) {
  const char* from = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t count = ::pwrite(fd, from, bytes, static_cast<off_t>(at));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      throw Error(ExitCode::kFailure,
                  fmt::format("The prepared weights could not be written ({}); check the free space.",
                              std::strerror(count < 0 ? errno : ENOSPC)));
    }
    from += count;
    bytes -= static_cast<std::size_t>(count);
    at += static_cast<std::uint64_t>(count);
  }
}

bool readAt(int fd, void* data, std::size_t bytes, std::uint64_t at) {
  char* to = static_cast<char*>(data);
  while (bytes > 0) {
    const ssize_t count = ::pread(fd, to, bytes, static_cast<off_t>(at));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    to += count;
    bytes -= static_cast<std::size_t>(count);
    at += static_cast<std::uint64_t>(count);
  }
  return true;
}

// True if only the user of this process and root can change the file.
bool belongsToUs(const struct stat& status) {
  return (status.st_uid == 0 || status.st_uid == ::geteuid()) && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

// Reads one row of the table; false if it does not describe weights between `first` and `last` of the file.
bool readPlace(const nlohmann::json& row, std::uint64_t first, std::uint64_t last, PreparedWeights::Place* place) {
  const bool formed = row.is_array() && row.size() == 7 && row[0].is_number_unsigned() && row[1].is_number_unsigned() &&
                      row[2].is_number_unsigned() && row[3].is_string() && row[4].is_number_unsigned() &&
                      row[5].is_number_unsigned() && row[6].is_number_unsigned();
  if (!formed) return false;
  place->constant = row[0].get<std::uint64_t>();
  place->constant_crc = row[1].get<std::uint32_t>();
  place->offset = row[2].get<std::uint64_t>();
  place->form = row[3].get<std::string>();
  const auto begin = row[4].get<std::uint64_t>();
  place->begin = first + begin;
  place->bytes = row[5].get<std::uint64_t>();
  place->crc = row[6].get<std::uint32_t>();
  return begin % kWeightAlignment == 0 && begin <= last - first && place->bytes <= last - first - begin;
}

}  // namespace

std::string preparedRegionId(const PlanSpec& spec) { return sha256Hex(planSpecToText(spec)); }

std::int64_t writePreparedWeights(int fd, std::int64_t begin, const std::string& machine,
                                  const std::vector<PreparedRegion>& regions) {
  nlohmann::json table = {{"machine", machine}, {"regions", nlohmann::json::object()}};
  std::vector<std::uint64_t> at;
  std::uint64_t data_bytes = 0;
  for (const PreparedRegion& region : regions) {
    nlohmann::json& rows = table["regions"][region.id];
    if (rows.is_null()) rows = nlohmann::json::array();  // equal blocks of a network have equal names
    for (const PreparedRegion::Weight& weight : region.weights) {
      at.push_back(data_bytes);
      const std::uint32_t crc = crc32Update(0, weight.data, weight.bytes);
      rows.push_back({weight.constant, weight.constant_crc, weight.offset, weight.form, data_bytes,
                      std::uint64_t{weight.bytes}, crc});
      data_bytes = roundedUp(data_bytes + weight.bytes, kWeightAlignment);
    }
  }
  const std::string text = dumpJson(table);
  const std::uint64_t first = roundedUp(sizeof(PreparedHeader) + text.size(), kFilePage);
  PreparedHeader header;
  header.table_crc = crc32Update(0, text.data(), text.size());
  header.table_bytes = text.size();
  header.file_bytes = roundedUp(first + data_bytes, kFilePage);
  const auto origin = static_cast<std::uint64_t>(begin);
  writeAt(fd, &header, sizeof header, origin);
  writeAt(fd, text.data(), text.size(), origin + sizeof header);
  std::size_t next = 0;
  for (const PreparedRegion& region : regions) {
    for (const PreparedRegion::Weight& weight : region.weights)
      writeAt(fd, weight.data, weight.bytes, origin + first + at[next++]);
  }
  const auto end = static_cast<std::int64_t>(origin + header.file_bytes);
  if (::ftruncate(fd, end) != 0)
    throw Error(ExitCode::kFailure, "The prepared weights could not be written; check the free space.");
  return end;
}

// --- reading ---------------------------------------------------------------------------------------------------------

// Reads and checks header and table. Returns the predicate of an error sentence, such as "is damaged"; empty when all
// is well.
std::string PreparedWeights::readTable() {
  struct stat status {};
  PreparedHeader header;
  const PreparedHeader expected;
  if (::fstat(fd_, &status) != 0 || !S_ISREG(status.st_mode) || !readAt(fd_, &header, sizeof header, 0) ||
      std::memcmp(header.magic, expected.magic, sizeof header.magic) != 0) {
    return "is no file of prepared weights";
  }
  if (header.schema != expected.schema) return "was written by another version of ipex-studio";
  file_bytes_ = header.file_bytes;
  if (file_bytes_ != static_cast<std::uint64_t>(status.st_size) || header.table_bytes > kMaxTableBytes ||
      roundedUp(sizeof header + header.table_bytes, kFilePage) > file_bytes_) {
    return "is damaged";
  }
  std::string text(header.table_bytes, '\0');
  if (!readAt(fd_, text.data(), text.size(), sizeof header) ||
      crc32Update(0, text.data(), text.size()) != header.table_crc)
    return "is damaged";
  const std::uint64_t first = roundedUp(sizeof header + header.table_bytes, kFilePage);
  try {
    const nlohmann::json table = parseRecordText(text);
    machine_ = table.at("machine").get<std::string>();
    std::uint64_t left = file_bytes_;  // no byte is two weights'
    for (const auto& [id, rows] : table.at("regions").items()) {
      std::vector<Place>& places = regions_[id];
      for (const nlohmann::json& row : rows) {
        places.emplace_back();
        if (!readPlace(row, first, file_bytes_, &places.back()) || places.back().bytes > left) return "is damaged";
        left -= places.back().bytes;
      }
    }
  } catch (const std::exception&) {
    return "is damaged";
  }
  return {};
}

// Maps the file at a multiple of a huge page, so that huge pages of the page cache are mapped as they are.
void PreparedWeights::map() {
  reserved_bytes_ = static_cast<std::size_t>(roundedUp(file_bytes_, kHugePage) + kHugePage);
  void* reserved = ::mmap(nullptr, reserved_bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED) return;
  reserved_ = reserved;
  const auto address = reinterpret_cast<std::uintptr_t>(reserved);
  void* const wanted = static_cast<char*>(reserved) + (roundedUp(address, kHugePage) - address);
  void* const mapped = ::mmap(wanted, static_cast<std::size_t>(file_bytes_), PROT_READ, MAP_SHARED | MAP_FIXED, fd_, 0);
  if (mapped == MAP_FAILED) return;
  wantHugePages(mapped, static_cast<std::size_t>(file_bytes_));
  base_ = static_cast<const char*>(mapped);
  ::close(fd_);
  fd_ = -1;
}

std::shared_ptr<const PreparedWeights> PreparedWeights::open(const std::string& path, const std::string& machine,
                                                             std::string* problem) {
  problem->clear();
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) {
    if (errno != ENOENT)
      *problem = fmt::format("{} cannot be opened ({}); its weights are packed again.", path, std::strerror(errno));
    return nullptr;
  }
  const std::shared_ptr<PreparedWeights> opened(new PreparedWeights(fd, path));
  std::string why = opened->readTable();
  if (why.empty() && opened->machine_ != machine)
    why = fmt::format("was made for another machine or other libraries than these ({})", machine);
  if (!why.empty()) {
    *problem = fmt::format("{} {}; its weights are packed again.", path, why);
    return nullptr;
  }
  struct stat status {};
  if (::fstat(fd, &status) == 0 && belongsToUs(status)) opened->map();
  return opened;
}

void PreparedWeights::check(int fd, const std::string& path) {
  const std::shared_ptr<PreparedWeights> opened(new PreparedWeights(::fcntl(fd, F_DUPFD_CLOEXEC, 0), path));
  std::string why = opened->readTable();
  for (const auto& [id, places] : opened->regions_) {
    for (const Place& place : places) {
      if (why.empty() && !opened->take(place)) why = "is damaged";
    }
  }
  if (!why.empty()) throw Error(ExitCode::kFailure, fmt::format("{} {}.", path, why));
}

PreparedWeights::~PreparedWeights() {
  if (reserved_ != nullptr) ::munmap(reserved_, reserved_bytes_);
  if (fd_ >= 0) ::close(fd_);
}

const std::vector<PreparedWeights::Place>* PreparedWeights::places(const std::string& region) const {
  const auto found = regions_.find(region);
  return found == regions_.end() ? nullptr : &found->second;
}

WeightCache::Packed PreparedWeights::take(const Place& place) const {
  const auto bytes = static_cast<std::size_t>(place.bytes);
  WeightCache::Packed packed;
  if (isMapped()) {
    packed = std::make_shared<const Buffer>(shared_from_this(), base_ + place.begin, bytes);
  } else {
    Buffer copy(bytes);
    if (!readAt(fd_, copy.data(), bytes, place.begin)) return nullptr;
    packed = std::make_shared<const Buffer>(std::move(copy));
  }
  return crc32Update(0, packed->data(), bytes) == place.crc ? packed : nullptr;
}

}  // namespace ipex_studio
