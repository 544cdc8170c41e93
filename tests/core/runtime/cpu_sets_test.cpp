// Sets of CPUs for instances, and the memory nodes of threads.
#include "core/runtime/cpu_sets.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

namespace ipex_studio {
namespace {

using Sets = std::vector<std::vector<int>>;

// `cores` cores of two hardware threads on each of `nodes` nodes, numbered as Linux does: first threads first.
std::vector<CpuPlace> machine(int nodes, int cores) {
  std::vector<CpuPlace> cpus;
  for (int thread = 0; thread < 2; ++thread) {
    for (int core = 0; core < nodes * cores; ++core)
      cpus.push_back({thread * nodes * cores + core, core, core / cores});
  }
  return cpus;
}

TEST(CpuSets, TakeWholeCoresBeforeTheirSecondThreads) {
  EXPECT_EQ(splitCpus(machine(1, 4), 2, 2), (Sets{{0, 1}, {2, 3}}));
  EXPECT_EQ(splitCpus(machine(1, 4), 4, 2), (Sets{{0, 1}, {2, 3}, {4, 5}, {6, 7}}));
  EXPECT_EQ(splitCpus(machine(1, 4), 1, 3), (Sets{{0, 1, 2}}));
}

TEST(CpuSets, KeepAnInstanceWithinOneNode) {
  EXPECT_EQ(splitCpus(machine(2, 4), 2, 4), (Sets{{0, 1, 2, 3}, {4, 5, 6, 7}}));
  EXPECT_EQ(splitCpus(machine(2, 4), 3, 2), (Sets{{0, 1}, {4, 5}, {2, 3}}));
  // 3 + 3 do not fit into a node's 4 cores, but into its 8 CPUs.
  EXPECT_EQ(splitCpus(machine(2, 4), 3, 3), (Sets{{0, 1, 2}, {4, 5, 6}, {3, 8, 9}}));
  // One instance larger than a node gets all CPUs.
  EXPECT_EQ(splitCpus(machine(2, 2), 1, 8), (Sets{{0, 1, 4, 5, 2, 3, 6, 7}}));
}

TEST(CpuSets, AreDisjointAndWithinTheMachine) {
  for (int nodes = 1; nodes <= 3; ++nodes) {
    for (int cores = 1; cores <= 5; ++cores) {
      for (int instances = 1; instances <= 2 * nodes * cores; ++instances) {
        for (int threads = 1; instances * threads <= 2 * nodes * cores; ++threads) {
          const Sets sets = splitCpus(machine(nodes, cores), instances, threads);
          ASSERT_EQ(sets.size(), static_cast<std::size_t>(instances));
          std::set<int> all;
          for (const auto& set : sets) {
            ASSERT_EQ(set.size(), static_cast<std::size_t>(threads));
            all.insert(set.begin(), set.end());
          }
          ASSERT_EQ(all.size(), static_cast<std::size_t>(instances * threads));
          ASSERT_LT(*all.rbegin(), 2 * nodes * cores);
        }
      }
    }
  }
}

TEST(CpuSets, AreEmptyWhereThereAreTooFewCpus) {
  EXPECT_TRUE(splitCpus(machine(1, 2), 5, 1).empty());
  EXPECT_TRUE(splitCpus(machine(1, 2), 1, 5).empty());
  EXPECT_TRUE(splitCpus({}, 1, 1).empty());
  EXPECT_TRUE(splitCpus(machine(1, 2), 0, 1).empty());
}

TEST(CpuSets, ReadTheTopologyOfTheSystem) {
  char name[] = "/tmp/core-sets-XXXXXX";
  const std::string root = ::mkdtemp(name);
  const std::string system = root + "/sys/devices/system";
  const auto write = [&](const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(system + path).parent_path());
    std::ofstream(system + path) << text << "\n";
  };
  write("/cpu/online", "0-2,4");
  write("/cpu/cpu0/topology/thread_siblings_list", "0,2");
  write("/cpu/cpu2/topology/thread_siblings_list", "0,2");
  write("/cpu/cpu1/topology/thread_siblings_list", "1");
  write("/node/online", "0-1");
  write("/node/node0/cpulist", "0,2");
  write("/node/node1/cpulist", "1,4");
  const std::vector<CpuPlace> cpus = usableCpus(root);
  std::filesystem::remove_all(root);
  const int expected[][3] = {{0, 0, 0}, {1, 1, 1}, {2, 0, 0}, {4, 4, 1}};
  ASSERT_EQ(cpus.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(cpus[i].cpu, expected[i][0]);
    EXPECT_EQ(cpus[i].core, expected[i][1]);
    EXPECT_EQ(cpus[i].node, expected[i][2]);
  }
}

TEST(CpuSets, PinTheThreadAndThoseItStarts) {
  const std::vector<CpuPlace> usable = usableCpus();
  ASSERT_FALSE(usable.empty());
  std::thread([&] {
    ASSERT_TRUE(pinThisThread({usable.back().cpu}));
    std::thread([&] {
      const std::vector<CpuPlace> left = usableCpus();
      ASSERT_EQ(left.size(), 1u);
      EXPECT_EQ(left[0].cpu, usable.back().cpu);
    }).join();
  }).join();
  EXPECT_EQ(usableCpus().size(), usable.size());
  EXPECT_FALSE(pinThisThread({}));
}

// Pinning looks up the node again; a thread's own statement holds for it alone.
TEST(CpuSets, KnowTheMemoryNodeOfAThread) {
  std::thread([] {
    const std::vector<CpuPlace> cpus = usableCpus();
    setMemoryNode(7);
    EXPECT_EQ(memoryNode(), 7);
    std::thread([] { EXPECT_NE(memoryNode(), 7); }).join();
    ASSERT_TRUE(pinThisThread({cpus[0].cpu}));
    EXPECT_EQ(memoryNode(), cpus[0].node);
  }).join();
}

}  // namespace
}  // namespace ipex_studio
