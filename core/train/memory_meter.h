// MemoryMeter: the bytes of tensors that a thread makes and drops.
#pragma once

#include <cstdint>
#include <memory>

#include "core/torch/torch_compat.h"

namespace c10 {
class DebugInfoGuard;
}

namespace ipex_studio {

// Counts what libtorch's allocator gives to the thread that made the meter, for its lifetime; memory of before is left
// out, also when it is given back. Meters end in the reverse order of their beginnings.
class MemoryMeter {
 public:
  MemoryMeter();
  ~MemoryMeter();
  MemoryMeter(const MemoryMeter&) = delete;
  MemoryMeter& operator=(const MemoryMeter&) = delete;

  // Bytes that are alive.
  std::int64_t bytes() const;
  // The most that were alive at once since the last call.
  std::int64_t takePeak();

 private:
  class Counter;
  std::shared_ptr<Counter> counter_;
  std::unique_ptr<c10::DebugInfoGuard> guard_;
};

}  // namespace ipex_studio
