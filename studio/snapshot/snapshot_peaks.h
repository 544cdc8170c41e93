// Measured peaks of this machine: the roofs of a roofline (Williams, Waterman, Patterson 2009).
#pragma once

#include <cstdint>
#include <string>

namespace ipex_studio {

// Zero: not known, or the machine has no such instructions. Multiplication and addition count as two.
struct MachinePeaks {
  std::int32_t threads = 0;
  double fp32_gflops = 0;
  double bf16_gflops = 0;  // dot products of pairs, summed in fp32
  double int8_gops = 0;    // dot products of four, summed in 32 bits
  double memory_gb_s = 0;  // reading more than the caches hold
  double cache_gb_s = 0;   // reading what fits into the second cache

  // The roof over a precision ("fp32", "bf16", "int8"); that of fp32 where it is not known.
  double roof(const std::string& precision) const;
  bool known() const { return fp32_gflops > 0 && memory_gb_s > 0; }
};

// Takes about 0.4 s on `threads` threads of its own. Measured once per process and number of threads.
MachinePeaks measurePeaks(std::int32_t threads);

}  // namespace ipex_studio
