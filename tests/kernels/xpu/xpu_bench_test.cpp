// Speed of the cases marked for it on the device, beside the host's first kernel of the list:
//   xpu_tests --gtest_also_run_disabled_tests --gtest_filter=XpuBench.DISABLED_Layers
// (network layers), or _All. IPEX_BENCH=pool leaves the kinds that have this in their name; POCL_MAX_PTHREAD_COUNT=1
// gives PoCL one core, as many as the host has here.
//
// Prints one line per case: the fastest of the device's runs, which alternate with the host's, speed, share of the FMA
// peak of one core measured here, the host's time, and the ratio of both.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "core/base/clock.h"
#include "core/runtime/machine_facts.h"
#include "kernels/common/parallel.h"
#include "kernels/kernel_list.h"
#include "tests/kernels/fma_peak.h"
#include "tests/kernels/harness.h"
#include "tests/kernels/xpu/opencl_machine.h"

namespace ipex_studio::kernel_test {
namespace {

constexpr int kRuns = 8;  // between two waits for a device

// One prepared operation with its own memory on a device, the host or another.
class Runner {
 public:
  Runner(const Kernel& kernel, const Case& test, const Problem& problem, Device& device) : queue_(device.newQueue()) {
    PrepareArgs args =
        makeArgs(test, problem, {Layout::kChannelsLast, 1, machineFacts().isa, -1}, &cache_, &constants_);
    args.target.device = &device;
    for (std::vector<TensorDesc>* side : {&args.src, &args.dst}) {
      for (TensorDesc& desc : *side) desc.device = device.id();
    }
    std::string reason;
    if (kernel.supports(args).ok) op_ = kernel.prepare(args, &reason);
    if (!op_) return;
    for (std::size_t s = 0; s < args.src.size(); ++s) {
      const std::size_t bytes = args.src[s].absent() ? 0 : op_->src[s].bytes();
      std::vector<char> values(bytes);
      if (bytes > 0) writeTensor(op_->src[s], problem.values[s], values.data());
      src_.push_back(op_->packed[s] || bytes == 0 ? nullptr : take(device, bytes, values.data()));
    }
    for (const TensorDesc& desc : op_->dst) dst_.push_back(take(device, desc.bytes(), nullptr));
    scratch_ = take(device, op_->scratch_bytes, nullptr);
    if (op_->in_place_src >= 0) dst_[0] = const_cast<void*>(src_[static_cast<std::size_t>(op_->in_place_src)]);
    state_ = op_->newState();
    if (state_) state_->queue = queue_.get();
  }
  bool isReady() const { return op_ != nullptr; }
  double seconds() const { return seconds_; }
  double flops() const { return static_cast<double>(op_->flops); }

  void run() {
    const std::int64_t begin = nowNs();
    for (int i = 0; i < kRuns; ++i) op_->execute(state_.get(), src_.data(), dst_.data(), scratch_);
    if (queue_) queue_->finish();
    seconds_ = std::min(seconds_, static_cast<double>(nowNs() - begin) * 1e-9 / kRuns);
  }

 private:
  void* take(Device& device, std::size_t bytes, const void* values) {
    if (bytes == 0) return nullptr;
    memory_.emplace_back(bytes, device);
    if (queue_ && values != nullptr) queue_->copy(memory_.back().data(), values, bytes);
    if (!queue_ && values != nullptr) std::memcpy(memory_.back().data(), values, bytes);
    if (!queue_ && values == nullptr) std::memset(memory_.back().data(), 0, bytes);
    return memory_.back().data();
  }

  std::unique_ptr<DeviceQueue> queue_;  // null on the host
  WeightCache cache_;
  std::vector<std::unique_ptr<GuardedBytes>> constants_;
  std::vector<Buffer> memory_;
  std::unique_ptr<PreparedOp> op_;
  std::unique_ptr<ExecState> state_;
  std::vector<const void*> src_;
  std::vector<void*> dst_;
  void* scratch_ = nullptr;
  double seconds_ = 1e9;
};

std::unique_ptr<Runner> firstOf(const std::vector<const Kernel*>& kernels, const Case& test, const Problem& problem,
                                Device& device) {
  for (const Kernel* kernel : kernels) {
    auto runner = std::make_unique<Runner>(*kernel, test, problem, device);
    if (runner->isReady()) return runner;
  }
  return nullptr;
}

void benchCase(const KernelList& list, const Case& test, OpenClDevice& device, double peak) {
  const OpSpec spec = parseOpSpec(test.spec);
  const char* part = std::getenv("IPEX_BENCH");
  if (part != nullptr && std::string(opKindName(spec.kind)).find(part) == std::string::npos) return;
  const Problem problem = makeProblem(test, false);
  const auto own = firstOf(list.candidates(spec.kind, DeviceKind::kXpu), test, problem, device);
  const auto host = firstOf(list.candidates(spec.kind, DeviceKind::kCpu), test, problem, hostDevice());
  if (!own || !host) return;
  const ThreadCountScope scope(1);
  for (int round = 0; round < 12; ++round) {
    host->run();
    own->run();
  }
  const double speed = own->flops() / own->seconds();
  std::printf("%9.1f us %7.1f GFLOP/s %5.1f %% host %9.1f us %6.2f  %s", own->seconds() * 1e6, speed * 1e-9,
              100 * speed / peak, host->seconds() * 1e6, own->seconds() / host->seconds(), test.spec.c_str());
  for (const TensorDesc& src : problem.src) std::printf(" %s", src.absent() ? "-" : src.dims.str().c_str());
  std::printf("\n");
}

void bench(const std::vector<const std::vector<Case>*>& tables) {
  const testing::TemporaryFolder programs;
  const auto device = testing::openTestDevice(programs.path());
  IPEX_NEEDS_OPENCL(device);
  const auto list = makeKernelList();
  const double peak = fmaPeak();
  std::printf("FMA peak of one core: %.1f GFLOP/s\n", peak * 1e-9);
  for (const auto* table : tables) {
    for (const Case& test : *table) {
      if (test.bench) benchCase(*list, test, *device, peak);
    }
  }
}

TEST(XpuBench, DISABLED_Layers) { bench({&layerCases()}); }

TEST(XpuBench, DISABLED_All) {
#define IPEX_TABLE(name, cases) &cases(),
  bench({&layerCases(), IPEX_CASE_LISTS(IPEX_TABLE)});
#undef IPEX_TABLE
}

}  // namespace
}  // namespace ipex_studio::kernel_test
