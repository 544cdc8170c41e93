// Measured peaks of this machine: the roofs of a roofline (Williams, Waterman, Patterson 2009).
#pragma once

#include <cstdint>
#include <string>

namespace ipex_studio {

// Peaks in units of 10^9 per second; a multiplication and an addition count as two operations. Zero: unknown, or the
// machine has no such instructions.
struct MachinePeaks {
  std::int32_t threads = 0;
  double fp32_gflops = 0;
  double bf16_gflops = 0;  // dot products of two BF16 values, summed in FP32
  double int8_gops = 0;    // dot products of four INT8 values, summed in 32 bits
  double memory_gb_s = 0;  // speed of reading more than the caches hold
  double cache_gb_s = 0;   // speed of reading what fits into the second-level cache

  // Computing peak of a precision ("fp32", "bf16", "int8"); that of FP32 if it is not known.
  double roof(const std::string& precision) const;
  bool known() const { return fp32_gflops > 0 && memory_gb_s > 0; }
};

// Measures the peaks on `threads` threads of its own, which takes about 0.4 s; once per process and number of
// threads. Thread-safe.
MachinePeaks measurePeaks(std::int32_t threads);

}  // namespace ipex_studio
