// Facts about this machine: CPU, instruction sets, cores that this process may use, memory.
#pragma once

#include <string>

#include "core/record/options.h"
#include "core/record/records.h"

namespace ipex_studio {

// Gathers everything but the library versions, which only the engine knows. Cheap (some small files are read); never
// throws: what cannot be found out stays empty or 0. Thread-safe.
MachineFacts machineFacts();

// Data types that this CPU computes in natively. As cheap as machineFacts(). Thread-safe.
Capabilities machineCapabilities();

// True if this tier (MachineFacts::isa) computes in BF16 natively.
bool hasBf16(const std::string& isa);

// True if this tier computes in FP16 natively (AVX512-FP16, which every CPU with AMX has).
bool hasFp16(const std::string& isa);

// The number of cores in the affinity mask, but no more than the cgroup's CPU quota (rounded up); at least 1. This is
// what "all cores" means everywhere in the project.
int usableCores();

// The quota alone, in cores; 0 where there is none. `root` stands before /proc/self/cgroup and /sys/fs/cgroup (tests
// put a made-up directory there). Knows cgroup v1 and v2, and takes the tightest level from the process's own upwards.
int cgroupQuotaCores(const std::string& root = "");

}  // namespace ipex_studio
