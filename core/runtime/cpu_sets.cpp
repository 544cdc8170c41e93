// Reads the topology from /sys, splits CPUs among instances, and pins threads.
#include "core/runtime/cpu_sets.h"

#include <sched.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <tuple>

namespace ipex_studio {
namespace {

constexpr int kMaxCpus = 1 << 16;

// Parses lists such as "0-3,8,10-11".
std::vector<int> parseCpuList(const std::string& text) {
  std::vector<int> cpus;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    int first = -1, last = -1;
    char dash = 0;
    std::istringstream range(part);
    if (!(range >> first)) continue;
    if (!(range >> dash >> last)) last = first;
    for (int cpu = first; cpu >= 0 && cpu <= std::min(last, kMaxCpus); ++cpu) cpus.push_back(cpu);
  }
  return cpus;
}

std::vector<int> readCpuList(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return parseCpuList(line);
}

struct CpuSetDeleter {
  void operator()(cpu_set_t* set) const { CPU_FREE(set); }
};
using CpuSet = std::unique_ptr<cpu_set_t, CpuSetDeleter>;

constexpr int kNotFoundYet = -2;
thread_local int thread_node = kNotFoundYet;

std::vector<int> affinityMask() {
  const std::size_t bytes = CPU_ALLOC_SIZE(kMaxCpus);
  const CpuSet set(CPU_ALLOC(kMaxCpus));
  std::vector<int> cpus;
  if (!set || ::sched_getaffinity(0, bytes, set.get()) != 0) return cpus;
  for (int cpu = 0; cpu < kMaxCpus; ++cpu) {
    if (CPU_ISSET_S(cpu, bytes, set.get())) cpus.push_back(cpu);
  }
  return cpus;
}

}  // namespace

std::vector<CpuPlace> usableCpus(const std::string& root) {
  const std::string system = root + "/sys/devices/system/";
  std::map<int, int> node_of;
  for (const int node : readCpuList(system + "node/online")) {
    for (const int cpu : readCpuList(system + "node/node" + std::to_string(node) + "/cpulist")) node_of[cpu] = node;
  }
  // The affinity mask of this process says nothing about the made-up machine of a test.
  std::vector<CpuPlace> places;
  for (const int cpu : root.empty() ? affinityMask() : readCpuList(system + "cpu/online")) {
    const auto siblings = readCpuList(system + "cpu/cpu" + std::to_string(cpu) + "/topology/thread_siblings_list");
    const int core = siblings.empty() ? cpu : *std::min_element(siblings.begin(), siblings.end());
    places.push_back({cpu, core, node_of.count(cpu) != 0 ? node_of[cpu] : 0});
  }
  return places;
}

std::vector<std::vector<int>> splitCpus(const std::vector<CpuPlace>& cpus, int instances, int threads) {
  if (instances < 1 || threads < 1 ||
      static_cast<std::size_t>(instances) * static_cast<std::size_t>(threads) > cpus.size())
    return {};
  // Per node, first hardware threads first.
  std::map<int, int> seen;
  std::vector<std::tuple<int, int, int>> order;  // node, which hardware thread of its core, cpu
  for (const CpuPlace& place : cpus) order.emplace_back(place.node, seen[place.core]++, place.cpu);
  std::sort(order.begin(), order.end());
  std::map<int, std::vector<int>> nodes;
  for (const auto& [node, sibling, cpu] : order) nodes[node].push_back(cpu);

  // Round-robin, so that few instances spread over the nodes' memory channels.
  std::vector<std::vector<int>> sets;
  std::map<int, std::size_t> used;
  for (bool placed = true; placed && static_cast<int>(sets.size()) < instances;) {
    placed = false;
    for (const auto& [node, list] : nodes) {
      std::size_t& at = used[node];
      if (static_cast<int>(sets.size()) == instances || at + static_cast<std::size_t>(threads) > list.size()) continue;
      sets.emplace_back(list.begin() + static_cast<std::ptrdiff_t>(at),
                        list.begin() + static_cast<std::ptrdiff_t>(at) + threads);
      at += static_cast<std::size_t>(threads);
      placed = true;
    }
  }
  // The remaining cores lie on several nodes.
  std::vector<int> rest;
  for (const auto& [node, list] : nodes)
    rest.insert(rest.end(), list.begin() + static_cast<std::ptrdiff_t>(used[node]), list.end());
  for (std::size_t at = 0; static_cast<int>(sets.size()) < instances; at += static_cast<std::size_t>(threads)) {
    sets.emplace_back(rest.begin() + static_cast<std::ptrdiff_t>(at),
                      rest.begin() + static_cast<std::ptrdiff_t>(at) + threads);
  }
  return sets;
}

bool pinThisThread(const std::vector<int>& cpus) {
  const std::size_t bytes = CPU_ALLOC_SIZE(kMaxCpus);
  const CpuSet set(CPU_ALLOC(kMaxCpus));
  if (!set || cpus.empty()) return false;
  CPU_ZERO_S(bytes, set.get());
  for (const int cpu : cpus) CPU_SET_S(cpu, bytes, set.get());
  thread_node = kNotFoundYet;
  return ::sched_setaffinity(0, bytes, set.get()) == 0;
}

int memoryNode() {
  static const bool several = readCpuList("/sys/devices/system/node/online").size() > 1;
  if (thread_node != kNotFoundYet) return thread_node;
  if (!several) return thread_node = 0;
  const std::vector<CpuPlace> cpus = usableCpus();
  const bool one = !cpus.empty() && std::all_of(cpus.begin(), cpus.end(),
                                                [&](const CpuPlace& place) { return place.node == cpus[0].node; });
  return thread_node = one ? cpus[0].node : kManyNodes;
}

void setMemoryNode(int node) { thread_node = node; }

}  // namespace ipex_studio
