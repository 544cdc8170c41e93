// The facts of this machine, its affinity mask, and quotas of made-up cgroups.
#include "core/runtime/machine_facts.h"

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

TEST(MachineFacts, FillsWhatThisMachineTells) {
  const MachineFacts facts = machineFacts();
  const std::set<std::string> tiers = {"any",
                                       "sse41",
                                       "avx2",
                                       "avx512_core",
                                       "avx512_core_vnni",
                                       "avx512_core_bf16",
                                       "avx512_core_fp16",
                                       "avx512_core_amx"};
  EXPECT_EQ(tiers.count(facts.isa), 1u) << facts.isa;
  EXPECT_GE(facts.cores, 1);
  EXPECT_GT(facts.memory_bytes, 64 << 20);
  EXPECT_EQ(facts.os.rfind("Linux ", 0), 0u) << facts.os;
  EXPECT_TRUE(facts.libtorch.empty() && facts.onednn.empty());
#if defined(__x86_64__)
  EXPECT_FALSE(facts.cpu.empty());
  const bool avx2 = std::count(facts.features.begin(), facts.features.end(), "avx2") == 1;
  EXPECT_EQ(avx2, __builtin_cpu_supports("avx2") != 0);
  const bool avx512 = std::count(facts.features.begin(), facts.features.end(), "avx512bw") == 1;
  EXPECT_EQ(avx512, __builtin_cpu_supports("avx512bw") != 0);
#endif
}

TEST(MachineFacts, FollowsTheAffinityMask) {
  int cores = 0;
  std::thread([&] {
    cpu_set_t all, one;
    ASSERT_EQ(::sched_getaffinity(0, sizeof all, &all), 0);
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (!CPU_ISSET(cpu, &all)) continue;
      CPU_SET(cpu, &one);
      break;
    }
    ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
    cores = usableCores();
  }).join();
  EXPECT_EQ(cores, 1);
}

class Cgroup : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "cgroup_XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    root_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(root_); }
  void write(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text << "\n";
  }
  std::string root_;
};

TEST_F(Cgroup, NoneMeansNoQuota) { EXPECT_EQ(cgroupQuotaCores(root_), 0); }

TEST_F(Cgroup, VersionTwoTakesTheTightestLevelRoundedUp) {
  write("/proc/self/cgroup", "0::/user/app");
  write("/sys/fs/cgroup/user/app/cpu.max", "max 100000");
  EXPECT_EQ(cgroupQuotaCores(root_), 0);
  write("/sys/fs/cgroup/user/cpu.max", "250000 100000");
  EXPECT_EQ(cgroupQuotaCores(root_), 3);
  write("/sys/fs/cgroup/user/app/cpu.max", "20000 100000");
  EXPECT_EQ(cgroupQuotaCores(root_), 1);
}

TEST_F(Cgroup, VersionTwoInAContainerHasOnlyTheRoot) {
  write("/proc/self/cgroup", "0::/");
  write("/sys/fs/cgroup/cpu.max", "200000 100000");
  EXPECT_EQ(cgroupQuotaCores(root_), 2);
}

TEST_F(Cgroup, VersionOne) {
  write("/proc/self/cgroup", "5:memory:/m\n4:cpu,cpuacct:/docker/1\n0::/");
  write("/sys/fs/cgroup/cpu,cpuacct/docker/1/cpu.cfs_quota_us", "-1");
  write("/sys/fs/cgroup/cpu,cpuacct/docker/1/cpu.cfs_period_us", "100000");
  EXPECT_EQ(cgroupQuotaCores(root_), 0);
  write("/sys/fs/cgroup/cpu,cpuacct/docker/1/cpu.cfs_quota_us", "350000");
  EXPECT_EQ(cgroupQuotaCores(root_), 4);
}

}  // namespace
}  // namespace ipex_studio
