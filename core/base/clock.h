// The clock that everything is timed by.
#pragma once

#include <chrono>
#include <cstdint>

namespace ipex_studio {

// Nanoseconds on a clock that never jumps; only differences mean something. Thread-safe.
inline std::int64_t nowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace ipex_studio
