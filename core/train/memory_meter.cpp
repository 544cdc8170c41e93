#include "core/train/memory_meter.h"

#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace ipex_studio {

namespace {

template <class Count>
Count countOf(void (c10::MemoryReportingInfoBase::*)(void*, std::int64_t, Count, Count, c10::Device));
// The type of the allocator's sums, which versions of libtorch have differently.
using AllocatedBytes = decltype(countOf(&c10::MemoryReportingInfoBase::reportMemoryUsage));

}  // namespace

// The receiver of the allocator's reports. It knows blocks by their addresses, since the allocator also reports the end
// of blocks that other meters saw begin.
class MemoryMeter::Counter : public c10::MemoryReportingInfoBase {
 public:
  void reportMemoryUsage(void* block, std::int64_t bytes, AllocatedBytes /*allocated*/, AllocatedBytes /*reserved*/,
                         c10::Device /*device*/) override {
    if (bytes > 0) {
      alive_[block] = bytes;
      bytes_ += bytes;
      peak_ = std::max(peak_, bytes_);
      return;
    }
    const auto found = alive_.find(block);
    if (found == alive_.end()) return;
    bytes_ -= found->second;
    alive_.erase(found);
  }
  bool memoryProfilingEnabled() const override { return true; }

  std::int64_t bytes() const { return bytes_; }
  std::int64_t takePeak() { return std::exchange(peak_, bytes_); }

 private:
  std::unordered_map<void*, std::int64_t> alive_;
  std::int64_t bytes_ = 0, peak_ = 0;
};

MemoryMeter::MemoryMeter()
    : counter_(std::make_shared<Counter>()),
      guard_(std::make_unique<c10::DebugInfoGuard>(c10::DebugInfoKind::PROFILER_STATE, counter_)) {}

MemoryMeter::~MemoryMeter() = default;

std::int64_t MemoryMeter::bytes() const { return counter_->bytes(); }

std::int64_t MemoryMeter::takePeak() { return counter_->takePeak(); }

}  // namespace ipex_studio
