// A second device that no machine has: its memory faults when the host touches it, and its queue does nothing until it
// must. A plan that reads a result without a copy crashes or gives numbers of before; where the device reaches the
// host's memory, one that overwrites what the device still reads gives wrong numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "core/op/kernel.h"
#include "tests/core/op/random_spec.h"

namespace ipex_studio::testing {

// One process has one of them, since devices live as long as it.
class MadeUpDevice final : public Device {
 public:
  static MadeUpDevice& get();

  const DeviceProperties& properties() const override { return properties_; }
  void* allocate(std::size_t bytes) override;
  void free(void* data, std::size_t bytes) noexcept override;
  std::unique_ptr<DeviceQueue> newQueue() override;
  std::int64_t nowNs() const override;

  // True if all of it lies in one allocation of the device.
  bool owns(const void* data, std::size_t bytes) const;
  std::size_t allocated() const;  // bytes that are not freed
  // Opens all memory of the device to the host while `work` runs.
  void unlocked(const std::function<void()>& work);

  // Whether its work may read and write memory of the host; not, until a test says otherwise.
  void setReachesHost(bool reaches) { properties_.reaches_host_memory = reaches; }
  // What plans expect a copy to take; 1 ns, so that it moves no step, until a test says otherwise.
  void setCopyNs(double ns) { properties_.copy_latency_ns = ns; }

  bool has_clock = false;  // true: says that its span number N, from 0, begins at 1000 (N + 1) and takes 100 + N

 private:
  MadeUpDevice();
  void protect(int rights) const;

  DeviceProperties properties_;
  mutable std::recursive_mutex mutex_;
  std::map<const char*, std::size_t> blocks_;  // whole pages
  int unlocked_ = 0;
};

// Kernels of the made-up device, for some kinds, besides all kernels of the host. Each computes by a kernel of the host
// and checks that every pointer it gets lies in the device's memory.
class MadeUpKernels final : public KernelList {
 public:
  // `host`: of the host; the device has all of its candidates for the kinds of `kinds`. Both outlive the list.
  MadeUpKernels(const KernelList& host, const std::set<OpKind>& kinds);
  ~MadeUpKernels() override;
  const std::vector<const Kernel*>& candidates(OpKind kind, DeviceKind device) const override;

 private:
  const KernelList& host_;
  std::vector<std::unique_ptr<Kernel>> own_;
  std::map<OpKind, std::vector<const Kernel*>> by_kind_;
};

}  // namespace ipex_studio::testing
