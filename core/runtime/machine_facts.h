// Facts about this machine: CPU, instruction sets, cores that this process may use, memory.
#pragma once

#include <string>

#include "core/record/options.h"
#include "core/record/records.h"

namespace ipex_studio {

// Fills everything but the library versions, which only the engine knows. Cheap (some small files are read); never
// throws: what cannot be found out stays empty or 0. Thread-safe.
MachineFacts machineFacts();

// Native abilities of this CPU. As cheap as machineFacts(). Thread-safe.
Capabilities machineCapabilities();

// True if this tier (MachineFacts::isa) computes in BF16 natively.
bool hasBf16(const std::string& isa);

// The same of FP16 (AVX512-FP16, which is part of every CPU with AMX).
bool hasFp16(const std::string& isa);

// Cores in the affinity mask, but no more than the cgroup's CPU quota (rounded up); at least 1. This is what "all
// cores" means everywhere in the project.
int usableCores();

// The quota alone, 0 where there is none. `root` stands before /proc/self/cgroup and /sys/fs/cgroup (tests put a
// directory of their own there). Knows cgroup v1 and v2 and takes the tightest level from the process's own upwards.
int cgroupQuotaCores(const std::string& root = "");

}  // namespace ipex_studio
