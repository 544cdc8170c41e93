// Assigns CPUs to the instances of a model: whole cores, near each other, each to one instance only.
#pragma once

#include <string>
#include <vector>

namespace ipex_studio {

// A logical CPU that this process may use, and its place in the machine.
struct CpuPlace {
  int cpu = 0;   // number as sched_setaffinity counts
  int core = 0;  // CPUs of one physical core share it
  int node = 0;  // memory node
};

// The CPUs of the calling thread's affinity mask, ascending. `root` stands before /sys/devices/system (tests put a
// made-up machine there, all CPUs of which count); where the topology cannot be read every CPU is a core of node 0.
// Thread-safe.
std::vector<CpuPlace> usableCpus(const std::string& root = "");

// Disjoint sets of `threads` CPUs, one set per instance. Physical cores are taken before their second hardware threads;
// each instance lies within one memory node while the nodes have room. Empty when there are not enough CPUs: then
// nothing should be pinned.
std::vector<std::vector<int>> splitCpus(const std::vector<CpuPlace>& cpus, int instances, int threads);

// Restricts the calling thread, and those it will start, to `cpus`. False when the system refuses.
bool pinThisThread(const std::vector<int>& cpus);

// The memory node that all CPUs of the calling thread belong to; kManyNodes if they belong to several; 0 on a machine
// of one node. Found at a thread's first call and kept, so later calls cost a nanosecond: a thread that is pinned by
// other means than pinThisThread must call setMemoryNode.
constexpr int kManyNodes = -1;
int memoryNode();
void setMemoryNode(int node);

}  // namespace ipex_studio
