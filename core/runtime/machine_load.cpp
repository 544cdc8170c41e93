// See machine_load.h.
#include "core/runtime/machine_load.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <sstream>

#include "core/base/clock.h"
#include "core/runtime/cpu_sets.h"

namespace ipex_studio {
namespace {

std::string fileText(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// How often a thread of this process lost its CPU to another.
std::int64_t preemptions() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_nivcsw;
}

// True at the index of each CPU that this process may use.
std::vector<bool> ownCpus() {
  std::vector<bool> mine;
  for (const CpuPlace& place : usableCpus()) {
    mine.resize(std::max(mine.size(), static_cast<std::size_t>(place.cpu) + 1));
    mine[static_cast<std::size_t>(place.cpu)] = true;
  }
  return mine;
}

BusyTime busyNow() {
  static const std::vector<bool> mine = ownCpus();
  return busyTime(fileText("/proc/stat"), mine, static_cast<double>(std::max(1L, ::sysconf(_SC_CLK_TCK))));
}

// Time that the quota of the process's group held its threads back. In v2 cpu.stat says throttled_usec, in v1
// throttled_time in nanoseconds.
double throttledNow() {
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const std::string group = line.substr(line.rfind(':') + 1);
    for (const char* mount : {"/sys/fs/cgroup", "/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"}) {
      for (const std::string& folder : {mount + group, std::string(mount)}) {
        std::istringstream words(fileText(folder + "/cpu.stat"));
        double value = 0;
        for (std::string key; words >> key >> value;) {
          if (key == "throttled_usec") return value * 1e-6;
          if (key == "throttled_time") return value * 1e-9;
        }
      }
    }
  }
  return 0;
}

// The time of a chain in which each multiplication waits for the one before: it depends on the clock alone, not on
// memory or on what runs beside. The best of a few, so that an interrupt does not count.
std::int64_t chainNs() {
  constexpr int kTries = 4, kLinks = 10000;
  volatile std::uint64_t seed = 12345;
  std::int64_t best = INT64_MAX;
  for (int attempt = 0; attempt < kTries; ++attempt) {
    std::uint64_t x = seed;
    const std::int64_t begin = nowNs();
    for (int link = 0; link < kLinks; ++link) x = x * 6364136223846793005u + 1442695040888963407u;
    seed = x;
    best = std::min(best, nowNs() - begin);
  }
  return best;
}

}  // namespace

std::int64_t processCpuNs() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

BusyTime busyTime(const std::string& stat, const std::vector<bool>& mine, double ticks_per_s) {
  BusyTime busy;
  std::istringstream lines(stat);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("cpu", 0) != 0 || line.size() < 4 || line[3] < '0' || line[3] > '9') continue;
    std::istringstream words(line.substr(3));
    std::size_t cpu = 0;
    double user = 0, nice = 0, system = 0, idle = 0, waiting = 0, irq = 0, soft_irq = 0, stolen = 0;
    words >> cpu >> user >> nice >> system >> idle >> waiting >> irq >> soft_irq >> stolen;
    if (cpu >= mine.size() || !mine[cpu]) continue;
    busy.cpu_s += (user + nice + system + irq + soft_irq) / ticks_per_s;
    busy.stolen_s += stolen / ticks_per_s;
    ++busy.cpus;
  }
  return busy;
}

LoadWatch::LoadWatch()
    : chain_ns_(chainNs()), preempted_(preemptions()), throttled_s_(throttledNow()), busy_(busyNow()) {
  cpu_ns_ = processCpuNs();
  wall_ns_ = nowNs();
}

NoiseRecord LoadWatch::seen() const {
  NoiseRecord noise;
  const BusyTime busy = busyNow();
  noise.wall_ns = std::max<std::int64_t>(1, nowNs() - wall_ns_);
  const double wall_s = static_cast<double>(noise.wall_ns) * 1e-9;
  const double own_s = static_cast<double>(processCpuNs() - cpu_ns_) * 1e-9;
  noise.cpus = busy.cpus;
  noise.preempted_per_s = static_cast<double>(preemptions() - preempted_) / wall_s;
  noise.others = (busy.cpu_s - busy_.cpu_s - own_s) / wall_s;
  noise.stolen = (busy.stolen_s - busy_.stolen_s) / (wall_s * std::max(1, busy.cpus));
  noise.throttled = (throttledNow() - throttled_s_) / (wall_s * std::max(1, busy.cpus));
  noise.fastest_chain_ns = std::min(chain_ns_, chainNs());
  noise.slowest_chain_ns = noise.fastest_chain_ns;
  return noise;
}

void addNoise(const NoiseRecord& later, NoiseRecord* sum) {
  const auto before = static_cast<double>(sum->wall_ns), after = static_cast<double>(later.wall_ns);
  const double all = std::max(1.0, before + after);
  const auto mix = [&](double a, double b) { return (a * before + b * after) / all; };
  sum->others = mix(sum->others, later.others);
  sum->stolen = mix(sum->stolen, later.stolen);
  sum->preempted_per_s = mix(sum->preempted_per_s, later.preempted_per_s);
  sum->throttled = mix(sum->throttled, later.throttled);
  sum->fastest_chain_ns =
      sum->wall_ns == 0 ? later.fastest_chain_ns : std::min(sum->fastest_chain_ns, later.fastest_chain_ns);
  sum->slowest_chain_ns = std::max(sum->slowest_chain_ns, later.slowest_chain_ns);
  sum->cpus = std::max(sum->cpus, later.cpus);
  sum->wall_ns += later.wall_ns;
}

}  // namespace ipex_studio
