#include "tests/kernels/xpu/on_device.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace ipex_studio::testing {
namespace {

constexpr std::size_t kCanary = 256;
constexpr unsigned char kCanaryByte = 0xA5;

// Memory of the device with canaries around it.
class GuardedMemory {
 public:
  GuardedMemory(Device& device, DeviceQueue& queue, std::size_t bytes)
      : queue_(queue), bytes_(bytes), memory_(bytes + 2 * kCanary, device) {
    const std::vector<unsigned char> canaries(bytes + 2 * kCanary, kCanaryByte);
    queue_.copy(memory_.data(), canaries.data(), canaries.size());
  }
  void* data() const { return static_cast<char*>(memory_.data()) + kCanary; }

  // Copies the contents to the host where `to` is not null, and checks the canaries.
  void take(void* to) {
    std::vector<unsigned char> all(bytes_ + 2 * kCanary);
    queue_.copy(all.data(), memory_.data(), all.size());
    const auto untouched = [](unsigned char byte) { return byte == kCanaryByte; };
    const bool intact = std::all_of(all.begin(), all.begin() + kCanary, untouched) &&
                        std::all_of(all.end() - kCanary, all.end(), untouched);
    EXPECT_TRUE(intact) << "the device wrote around a tensor";
    if (to != nullptr) std::copy(all.begin() + kCanary, all.end() - kCanary, static_cast<unsigned char*>(to));
  }

 private:
  DeviceQueue& queue_;
  std::size_t bytes_;
  Buffer memory_;
};

class OnDeviceOp final : public PreparedOp {
 public:
  OnDeviceOp(std::unique_ptr<PreparedOp> inner, Device& device) : inner_(std::move(inner)), device_(device) {
    for (const TensorDesc& desc : inner_->src) src.push_back(onHost(desc));
    for (const TensorDesc& desc : inner_->dst) dst.push_back(onHost(desc));
    packed = inner_->packed;
    may_alias = inner_->may_alias;
    in_place_src = inner_->in_place_src;
    flops = inner_->flops;
  }

  std::unique_ptr<ExecState> newState() const override { return std::make_unique<ExecState>(); }

  void execute(ExecState* state, const void* const* from, void* const* to, void*) const override {
    const auto queue = device_.newQueue();
    std::vector<std::unique_ptr<GuardedMemory>> sources, results;
    std::vector<const void*> src_data;
    std::vector<void*> dst_data;
    for (std::size_t s = 0; s < src.size(); ++s) {
      sources.push_back(from[s] == nullptr ? nullptr
                                           : std::make_unique<GuardedMemory>(device_, *queue, src[s].bytes()));
      if (sources[s]) queue->copy(sources[s]->data(), from[s], src[s].bytes());
      src_data.push_back(sources[s] ? sources[s]->data() : nullptr);
    }
    for (std::size_t d = 0; d < dst.size(); ++d) {
      const auto same = std::find(from, from + src.size(), to[d]);
      const bool aliased = same != from + src.size();
      results.push_back(aliased ? nullptr : std::make_unique<GuardedMemory>(device_, *queue, dst[d].bytes()));
      // What lies between elements stays as it is.
      if (!aliased) queue->copy(results[d]->data(), to[d], dst[d].bytes());
      dst_data.push_back(aliased ? sources[static_cast<std::size_t>(same - from)]->data() : results[d]->data());
    }
    const auto inner_state = inner_->newState();
    inner_state->queue = queue.get();
    std::optional<GuardedMemory> scratch;
    if (inner_->scratch_bytes > 0) scratch.emplace(device_, *queue, inner_->scratch_bytes);
    inner_->execute(inner_state.get(), src_data.data(), dst_data.data(), scratch ? scratch->data() : nullptr);
    queue->finish();
    if (const char* why = inner_state->takeFailure()) ADD_FAILURE() << why;
    for (std::size_t d = 0; d < dst.size(); ++d) {
      if (results[d]) {
        results[d]->take(to[d]);
      } else {
        queue->copy(to[d], dst_data[d], dst[d].bytes());
      }
    }
    for (const auto& source : sources) {
      if (source) source->take(nullptr);
    }
    if (scratch) scratch->take(nullptr);
    static_cast<void>(state);
  }

 private:
  static TensorDesc onHost(TensorDesc desc) {
    desc.device = {};
    return desc;
  }

  std::unique_ptr<PreparedOp> inner_;
  Device& device_;
};

}  // namespace

Verdict OnDevice::supports(const PrepareArgs& args) const { return kernel_.supports(onDevice(args)); }

std::unique_ptr<PreparedOp> OnDevice::prepare(const PrepareArgs& args, std::string* reason) const {
  auto inner = kernel_.prepare(onDevice(args), reason);
  return inner ? std::make_unique<OnDeviceOp>(std::move(inner), device_) : nullptr;
}

PrepareArgs OnDevice::onDevice(PrepareArgs args) const {
  args.target.device = &device_;
  for (std::vector<TensorDesc>* side : {&args.src, &args.dst}) {
    for (TensorDesc& desc : *side) desc.device = device_.id();
  }
  return args;
}

}  // namespace ipex_studio::testing
