// What else the machine does while something is timed: other programs, the hypervisor, quotas and the clock.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/record/records.h"

namespace ipex_studio {

// Time that the CPUs of a process were busy, from the text of /proc/stat.
struct BusyTime {
  double cpu_s = 0;     // sum over these CPUs, of all programs
  double stolen_s = 0;  // time that a hypervisor gave to others
  int cpus = 0;         // number of CPUs that were found
};
// `mine`: true at the index of each CPU that counts.
BusyTime busyTime(const std::string& stat, const std::vector<bool>& mine, double ticks_per_s);

// Watches the machine from its construction on. Reads three small files; what cannot be read counts as none.
class LoadWatch {
 public:
  LoadWatch();
  // What was seen until now. The clock is measured by a chain of multiplications, which takes some 0.1 ms here and in
  // the constructor. Does not throw.
  NoiseRecord seen() const;

 private:
  std::int64_t wall_ns_ = 0, cpu_ns_ = 0;
  std::int64_t chain_ns_ = 0;
  std::int64_t preempted_ = 0;
  double throttled_s_ = 0;
  BusyTime busy_;
};

// CPU time of all threads of this process.
std::int64_t processCpuNs();

// Adds what was seen in a later piece of a run, weighted by time.
void addNoise(const NoiseRecord& later, NoiseRecord* sum);

}  // namespace ipex_studio
