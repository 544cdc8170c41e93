#include "tests/core/plan/made_up_device.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <new>
#include <utility>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/huge_pages.h"

namespace ipex_studio::testing {
namespace {

constexpr std::size_t kMadeUpPage = 4096;

// Collects work and does it only when a copy or finish() asks for results, as a driver may.
class LazyQueue final : public DeviceQueue {
 public:
  explicit LazyQueue(MadeUpDevice& device) : device_(device) {}

  void add(std::function<void()> work) { waiting_.push_back(std::move(work)); }

  void copy(void* to, const void* from, std::size_t bytes) override {
    finish();
    if (bytes == 0) return;
    EXPECT_TRUE(device_.properties().reaches_host_memory || device_.owns(to, bytes) || device_.owns(from, bytes))
        << "a copy from the host to the host";
    device_.unlocked([&] { std::memcpy(to, from, bytes); });
  }

  void finish() override {
    const std::vector<std::function<void()>> work = std::exchange(waiting_, {});
    for (const auto& each : work) each();
  }

  bool startSpans() override {
    spans_ = 0;
    return device_.has_clock;
  }
  void beginSpan() override { ++spans_; }
  std::vector<DeviceSpan> endSpans() override {
    finish();
    std::vector<DeviceSpan> spans;
    for (std::int64_t s = 0; s < spans_; ++s) spans.push_back({1000 * (s + 1), 100 + s});
    return spans;
  }

 private:
  MadeUpDevice& device_;
  std::int64_t spans_ = 0;
  std::vector<std::function<void()>> waiting_;
};

class MadeUpOp final : public PreparedOp {
 public:
  MadeUpOp(std::unique_ptr<PreparedOp> inner, MadeUpDevice& device) : inner_(std::move(inner)), device_(device) {
    src = inner_->src;
    dst = inner_->dst;
    packed.assign(src.size(), false);
    in_place_src = inner_->in_place_src;
    may_alias = inner_->may_alias;
    scratch_bytes = inner_->scratch_bytes;
    flops = inner_->flops;
  }

  std::unique_ptr<ExecState> newState() const override { return std::make_unique<ExecState>(); }

  void execute(ExecState* state, const void* const* from, void* const* to, void* scratch) const override {
    ASSERT_NE(state->queue, nullptr) << "a step of the device has no queue";
    std::vector<const void*> sources(from, from + src.size());
    std::vector<void*> results(to, to + dst.size());
    for (std::size_t s = 0; s < src.size(); ++s) expectOwned(sources[s], src[s], "source");
    for (std::size_t d = 0; d < dst.size(); ++d) expectOwned(results[d], dst[d], "result");
    if (scratch_bytes > 0) {
      EXPECT_TRUE(device_.owns(scratch, scratch_bytes)) << "scratch lies on the host";
    }
    static_cast<LazyQueue*>(state->queue)->add([this, sources, results, scratch] {
      const std::unique_ptr<ExecState> inner = inner_->newState();
      device_.unlocked([&] { inner_->execute(inner.get(), sources.data(), results.data(), scratch); });
      if (!inner) return;
      if (const char* why = inner->takeFailure()) throw Error(ExitCode::kFailure, why);
    });
  }

 private:
  void expectOwned(const void* data, const TensorDesc& desc, const char* which) const {
    if (desc.absent() || desc.bytes() == 0 || device_.properties().reaches_host_memory) return;
    EXPECT_TRUE(device_.owns(data, desc.bytes())) << "a " << which << " lies on the host: " << desc.str();
  }

  const std::unique_ptr<PreparedOp> inner_;
  MadeUpDevice& device_;
};

class MadeUpKernel final : public Kernel {
 public:
  MadeUpKernel(const Kernel& inner, MadeUpDevice& device) : inner_(inner), device_(device) {}

  const char* name() const override { return "made_up"; }
  bool onlyWhenMeasured() const override { return inner_.onlyWhenMeasured(); }
  Verdict supports(const PrepareArgs& args) const override { return inner_.supports(onHost(args)); }
  std::unique_ptr<PreparedOp> prepare(const PrepareArgs& args, std::string* reason) const override {
    auto op = inner_.prepare(onHost(args), reason);
    return op ? std::make_unique<MadeUpOp>(std::move(op), device_) : nullptr;
  }

 private:
  // Without constants, which a kernel of the host would pack into memory of the host.
  static PrepareArgs onHost(PrepareArgs args) {
    EXPECT_EQ(args.target.device->id().kind, DeviceKind::kXpu);
    for (const TensorDesc& src : args.src) EXPECT_EQ(src.device.kind, DeviceKind::kXpu);
    args.target.device = &hostDevice();
    args.constant.assign(args.src.size(), nullptr);
    return args;
  }

  const Kernel& inner_;
  MadeUpDevice& device_;
};

}  // namespace

MadeUpDevice::MadeUpDevice() {
  properties_.id = {DeviceKind::kXpu, 0};
  properties_.name = "made up";
  properties_.copy_latency_ns = 1;
}

MadeUpDevice& MadeUpDevice::get() {
  static MadeUpDevice device;
  return device;
}

void* MadeUpDevice::allocate(std::size_t bytes) {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  const std::size_t pages = roundedUp(bytes, kMadeUpPage);
  void* data =
      ::mmap(nullptr, pages, unlocked_ > 0 ? PROT_READ | PROT_WRITE : PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) throw std::bad_alloc();
  blocks_[static_cast<const char*>(data)] = pages;
  return data;
}

void MadeUpDevice::free(void* data, std::size_t) noexcept {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  const auto block = blocks_.find(static_cast<const char*>(data));
  ::munmap(data, block->second);
  blocks_.erase(block);
}

std::unique_ptr<DeviceQueue> MadeUpDevice::newQueue() { return std::make_unique<LazyQueue>(*this); }

std::int64_t MadeUpDevice::nowNs() const { return ipex_studio::nowNs(); }

bool MadeUpDevice::owns(const void* data, std::size_t bytes) const {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  const auto* first = static_cast<const char*>(data);
  auto block = blocks_.upper_bound(first);
  if (block == blocks_.begin()) return false;
  --block;
  return first + bytes <= block->first + block->second;
}

std::size_t MadeUpDevice::allocated() const {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  std::size_t bytes = 0;
  for (const auto& [data, size] : blocks_) bytes += size;
  return bytes;
}

void MadeUpDevice::protect(int rights) const {
  for (const auto& [data, bytes] : blocks_) ::mprotect(const_cast<char*>(data), bytes, rights);
}

void MadeUpDevice::unlocked(const std::function<void()>& work) {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  if (++unlocked_ == 1) protect(PROT_READ | PROT_WRITE);
  work();
  if (--unlocked_ == 0) protect(PROT_NONE);
}

MadeUpKernels::MadeUpKernels(const KernelList& host, const std::set<OpKind>& kinds) : host_(host) {
  for (const OpKind kind : kinds) {
    for (const Kernel* inner : host.candidates(kind, DeviceKind::kCpu)) {
      own_.push_back(std::make_unique<MadeUpKernel>(*inner, MadeUpDevice::get()));
      by_kind_[kind].push_back(own_.back().get());
    }
  }
}

MadeUpKernels::~MadeUpKernels() = default;

const std::vector<const Kernel*>& MadeUpKernels::candidates(OpKind kind, DeviceKind device) const {
  static const std::vector<const Kernel*> none;
  if (device == DeviceKind::kCpu) return host_.candidates(kind, device);
  const auto found = by_kind_.find(kind);
  return found == by_kind_.end() ? none : found->second;
}

}  // namespace ipex_studio::testing
