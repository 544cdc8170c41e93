// Weights as the kernels of one machine read them, saved beside a compiled export (fast.pt.weights) and mapped when it
// is loaded: nothing is packed then, and all processes share one copy. Which of them a plan asks for is up to its
// choices.
//
//   "ipexwts\n"; schema, CRC of the table (u32 each); bytes of the table, bytes of the file (u64 each); little-endian
//   the table, JSON: {"machine": …, "regions": {id: [[constant, its CRC, offset, form, begin, bytes, crc], …]}}
//   from the next page on, from where `begin` counts: the weights, each at a multiple of 64 bytes
//
// The file is untrusted input: every number is checked against the file when it is opened, the CRC of weights when they
// are taken, and their size when a kernel asks for them (WeightCache). Whatever does not fit is packed as if there were
// no file.
//
// Mapped memory must not change. A file that somebody else may write is copied instead, weight by weight. A file is
// replaced by renaming another over it, as this project does: truncating it ends the processes that have it mapped, as
// with a shared library.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/op/kernel.h"
#include "core/op/plan_spec.h"

namespace ipex_studio {

inline constexpr const char kPreparedSuffix[] = ".weights";  // behind the name of the export

// The packed weights of one region.
struct PreparedRegion {
  struct Weight {
    std::uint64_t constant = 0;      // index of the constant that was packed
    std::uint32_t constant_crc = 0;  // CRC of the whole constant
    std::uint64_t offset = 0;        // bytes into the constant
    std::string form;                // as WeightCache names it
    const void* data = nullptr;
    std::size_t bytes = 0;
  };
  std::string id;
  std::vector<Weight> weights;
};

// Names a region by its operations and the sizes of its constants. The contents are left out, so that large tables that
// are not packed need not be read: the CRCs of packed constants stand for them.
std::string preparedRegionId(const PlanSpec& spec);

// Writes the file from byte `begin` of `fd` on; returns the offset of its end. `machine`: everything that packed bytes
// depend on besides their source. Throws Error(kFailure) where the file cannot be written.
std::int64_t writePreparedWeights(int fd, std::int64_t begin, const std::string& machine,
                                  const std::vector<PreparedRegion>& regions);

// An opened file of prepared weights. Thread-safe.
class PreparedWeights : public std::enable_shared_from_this<PreparedWeights> {
 public:
  struct Place {
    std::uint64_t constant = 0, offset = 0;
    std::uint32_t constant_crc = 0;
    std::string form;
    std::uint64_t begin = 0, bytes = 0;  // in the file
    std::uint32_t crc = 0;
  };

  // Opens the file for this machine. Null where there is none, and, with a sentence in `problem`, where it cannot be
  // opened, is damaged or was made for another machine.
  static std::shared_ptr<const PreparedWeights> open(const std::string& path, const std::string& machine,
                                                     std::string* problem);
  // Reads and checks the whole file. Throws Error(kFailure) with one sentence that names `path`.
  static void check(int fd, const std::string& path);

  ~PreparedWeights();
  PreparedWeights(const PreparedWeights&) = delete;
  PreparedWeights& operator=(const PreparedWeights&) = delete;

  const std::string& path() const { return path_; }
  bool isMapped() const { return base_ != nullptr; }
  // Places of all regions of this name; null if the file has none.
  const std::vector<Place>* places(const std::string& region) const;
  // The weights at this place, mapped or copied; null if they are damaged.
  WeightCache::Packed take(const Place& place) const;

 private:
  PreparedWeights(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
  std::string readTable();
  void map();

  int fd_;  // -1 once it is mapped
  std::string path_;
  std::uint64_t file_bytes_ = 0;
  std::string machine_;
  std::map<std::string, std::vector<Place>> regions_;
  void* reserved_ = nullptr;
  std::size_t reserved_bytes_ = 0;
  const char* base_ = nullptr;  // null: not mapped
};

}  // namespace ipex_studio
