// Assigns processors to the instances of a model: whole cores, near each other, each to one instance only.
#pragma once

#include <string>
#include <vector>

namespace ipex_studio {

// A logical CPU that this process may use, and where it is.
struct CpuPlace {
  int cpu = 0;   // as sched_setaffinity counts
  int core = 0;  // CPUs of one physical core share it
  int node = 0;  // memory node
};

// The CPUs of the calling thread's affinity mask, ascending. `root` stands before /sys/devices/system (tests put a
// machine of their own there); where the topology cannot be read every CPU is a core of node 0. Thread-safe.
std::vector<CpuPlace> usableCpus(const std::string& root = "");

// Disjoint sets of `threads` CPUs for `instances` instances, one per instance. Physical cores before their second
// hardware threads; an instance lies within one memory node where all of them can. Empty when there are not enough
// CPUs: then nobody should be pinned.
std::vector<std::vector<int>> splitCpus(const std::vector<CpuPlace>& cpus, int instances, int threads);

// Restricts the calling thread, and those it will start, to `cpus`. False when the system refuses.
bool pinThisThread(const std::vector<int>& cpus);

// The memory node that the calling thread's CPUs all belong to; kManyNodes when they do not. 0 on a machine of one node.
// Found at a thread's first call and kept: a thread that is pinned later by other means than pinThisThread says so with
// setMemoryNode. Costs a nanosecond from then on.
constexpr int kManyNodes = -1;
int memoryNode();
void setMemoryNode(int node);

}  // namespace ipex_studio
