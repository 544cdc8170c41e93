// Reads CPUID, the affinity mask, cgroups and /etc/os-release.
#include "core/runtime/machine_facts.h"

#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <vector>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace ipex_studio {
namespace {

std::string firstLine(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::string trimmed(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(" \t\n\"");
  if (begin == std::string::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\n\"") - begin + 1);
}

#if defined(__x86_64__)
struct CpuidLeaf {
  unsigned a = 0, b = 0, c = 0, d = 0;
};

CpuidLeaf cpuid(unsigned leaf, unsigned part = 0) {
  CpuidLeaf out;
  __get_cpuid_count(leaf, part, &out.a, &out.b, &out.c, &out.d);
  return out;
}

// Register files that the operating system saves: bit 1 SSE, 2 AVX, 5–7 AVX-512, 17–18 AMX tiles.
std::uint64_t savedState(bool has_xgetbv) {
  if (!has_xgetbv) return 0;
  std::uint32_t low = 0, high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return std::uint64_t{high} << 32 | low;
}

std::vector<std::string> cpuFeatures() {
  const CpuidLeaf one = cpuid(1), seven = cpuid(7), seven_one = cpuid(7, 1);
  const std::uint64_t saved = savedState(one.c & 1u << 27);
  const bool avx_state = (saved & 0x6) == 0x6;
  const bool avx512_state = avx_state && (saved & 0xe0) == 0xe0;
  const bool amx_state = (saved & 0x60000) == 0x60000;
  const struct {
    const char* name;
    unsigned word;
    int bit;
    bool usable;
  } table[] = {
      {"sse4.1", one.c, 19, true},
      {"sse4.2", one.c, 20, true},
      {"avx", one.c, 28, avx_state},
      {"f16c", one.c, 29, avx_state},
      {"fma", one.c, 12, avx_state},
      {"avx2", seven.b, 5, avx_state},
      {"avx_vnni", seven_one.a, 4, avx_state},
      {"sha", seven.b, 29, true},
      {"avx512f", seven.b, 16, avx512_state},
      {"avx512dq", seven.b, 17, avx512_state},
      {"avx512bw", seven.b, 30, avx512_state},
      {"avx512vl", seven.b, 31, avx512_state},
      {"avx512_vbmi", seven.c, 1, avx512_state},
      {"avx512_vnni", seven.c, 11, avx512_state},
      {"avx512_bf16", seven_one.a, 5, avx512_state},
      {"avx512_fp16", seven.d, 23, avx512_state},
      {"amx_bf16", seven.d, 22, amx_state},
      {"amx_tile", seven.d, 24, amx_state},
      {"amx_int8", seven.d, 25, amx_state},
  };
  std::vector<std::string> features;
  for (const auto& row : table) {
    if (row.usable && (row.word >> row.bit & 1u)) features.push_back(row.name);
  }
  return features;
}

std::string cpuBrand() {
  if (cpuid(0x80000000u).a < 0x80000004u) return {};
  char brand[49] = {};
  for (unsigned i = 0; i < 3; ++i) {
    const CpuidLeaf leaf = cpuid(0x80000002u + i);
    std::memcpy(brand + 16 * i, &leaf, sizeof leaf);
  }
  return trimmed(brand);
}
#else
std::vector<std::string> cpuFeatures() { return {}; }
std::string cpuBrand() { return {}; }
#endif

// The highest tier, by oneDNN's names, whose instructions are all available.
std::string isaTier(const std::vector<std::string>& features) {
  const auto has = [&](std::initializer_list<const char*> names) {
    return std::all_of(names.begin(), names.end(), [&](const char* name) {
      return std::find(features.begin(), features.end(), name) != features.end();
    });
  };
  if (!has({"sse4.1"})) return "any";
  if (!has({"avx2", "fma"})) return "sse41";
  if (!has({"avx512f", "avx512dq", "avx512bw", "avx512vl"})) return "avx2";
  if (!has({"avx512_vnni"})) return "avx512_core";
  if (!has({"avx512_bf16"})) return "avx512_core_vnni";
  if (has({"amx_tile", "amx_int8", "amx_bf16"})) return "avx512_core_amx";
  return has({"avx512_fp16"}) ? "avx512_core_fp16" : "avx512_core_bf16";
}

int affinityCores() {
  for (int capacity = 1024; capacity <= 1 << 18; capacity *= 2) {
    cpu_set_t* set = CPU_ALLOC(capacity);
    if (set == nullptr) break;
    const std::size_t bytes = CPU_ALLOC_SIZE(capacity);
    const bool ok = ::sched_getaffinity(0, bytes, set) == 0;
    const int count = ok ? CPU_COUNT_S(bytes, set) : 0;
    CPU_FREE(set);
    if (ok) return std::max(count, 1);
  }
  return std::max(1, static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN)));
}

int coresOf(double quota, double period) {
  return quota > 0 && period > 0 ? std::max(1, static_cast<int>(std::ceil(quota / period - 1e-9))) : 0;
}

// Reads the quota of one folder in cores; 0: none. v2: "200000 100000" or "max 100000" in cpu.max; v1: two files, where
// a negative quota means none.
int quotaOfFolder(const std::string& folder, bool unified) {
  if (unified) {
    std::istringstream line(firstLine(folder + "/cpu.max"));
    std::string quota;
    double period = 0;
    line >> quota >> period;
    return coresOf(std::atof(quota.c_str()), period);
  }
  return coresOf(std::atof(firstLine(folder + "/cpu.cfs_quota_us").c_str()),
                 std::atof(firstLine(folder + "/cpu.cfs_period_us").c_str()));
}

// The tightest quota from the process's own group up to the root of the mount; in a container only the root may be
// there.
int tightestQuota(const std::string& mount, std::string group, bool unified) {
  int tightest = 0;
  for (;;) {
    const int cores = quotaOfFolder(mount + group, unified);
    if (cores > 0) tightest = tightest == 0 ? cores : std::min(tightest, cores);
    if (group.empty()) return tightest;
    group.resize(std::min(group.rfind('/'), group.size() - 1));
  }
}

std::string osText() {
  std::string text;
  utsname name{};
  if (::uname(&name) == 0) {
    const std::string release = name.release;  // "6.1.0-18-amd64"
    const std::size_t minor = release.find('.');
    text = std::string(name.sysname) + " " + release.substr(0, release.find_first_not_of("0123456789", minor + 1));
  }
  std::ifstream file("/etc/os-release");
  std::string distribution, version;
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("NAME=", 0) == 0) distribution = trimmed(line.substr(5));
    if (line.rfind("VERSION_ID=", 0) == 0) version = trimmed(line.substr(11));
  }
  distribution = distribution.substr(0, distribution.find(' '));
  return trimmed(text + " " + distribution + " " + version);
}

}  // namespace

int cgroupQuotaCores(const std::string& root) {
  std::ifstream file(root + "/proc/self/cgroup");
  int tightest = 0;
  // Lines look like "0::/user.slice" (v2) or "4:cpu,cpuacct:/group" (v1).
  for (std::string line; std::getline(file, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    std::string group = line.substr(second + 1);
    if (group == "/") group.clear();
    const bool unified = controllers == ",,";
    if (!unified && controllers.find(",cpu,") == std::string::npos) continue;
    for (const char* mount : {"/sys/fs/cgroup", "/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"}) {
      const int cores = tightestQuota(root + mount, group, unified);
      if (cores > 0) tightest = tightest == 0 ? cores : std::min(tightest, cores);
    }
  }
  return tightest;
}

int usableCores() {
  const int quota = cgroupQuotaCores();
  const int cores = affinityCores();
  return quota > 0 ? std::min(quota, cores) : cores;
}

Capabilities machineCapabilities() {
  const MachineFacts facts = machineFacts();
  const auto has = [&](const char* feature) {
    return std::find(facts.features.begin(), facts.features.end(), feature) != facts.features.end();
  };
  return {hasBf16(facts.isa), has("avx512_vnni") || has("avx_vnni") || has("amx_int8")};
}

bool hasBf16(const std::string& isa) { return isa == "avx512_core_bf16" || hasFp16(isa); }

bool hasFp16(const std::string& isa) { return isa == "avx512_core_fp16" || isa == "avx512_core_amx"; }

MachineFacts machineFacts() {
  MachineFacts facts;
  facts.cpu = cpuBrand();
  facts.features = cpuFeatures();
  facts.isa = isaTier(facts.features);
  facts.cores = usableCores();
  facts.os = osText();
  facts.governor = firstLine("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  facts.memory_bytes = static_cast<std::int64_t>(::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGE_SIZE);
  return facts;
}

}  // namespace ipex_studio
