// The step that copies a tensor through the queue of a device.
#include "core/op/device_copy.h"

#include <fmt/format.h>

#include "core/base/huge_pages.h"

namespace ipex_studio {
namespace {

class DeviceCopy final : public PreparedOp {
 public:
  std::unique_ptr<ExecState> newState() const override { return std::make_unique<ExecState>(); }
  void execute(ExecState* state, const void* const* from, void* const* to, void*) const override {
    state->queue->copy(to[0], from[0], src[0].bytes());
  }
};

}  // namespace

std::shared_ptr<const PreparedOp> makeDeviceCopy(const TensorDesc& from, const DeviceId& to, const Device& other) {
  auto copy = std::make_shared<DeviceCopy>();
  copy->src = {from};
  copy->dst = {from};
  copy->dst[0].device = to;
  copy->implementation = to.isHost() ? fmt::format("{} to {}", other.label(), to.str())
                                     : fmt::format("{} to {}", from.device.str(), other.label());
  return copy;
}

bool fillsItsExtent(const TensorDesc& desc) {
  Dims padded = desc.dims;
  if (desc.block > 0)
    padded[1] = static_cast<std::int64_t>(
        roundedUp(static_cast<std::uint64_t>(padded[1]), static_cast<std::uint64_t>(desc.block)));
  return desc.bytes() == static_cast<std::size_t>(padded.count()) * elementBytes(desc.dtype);
}

}  // namespace ipex_studio
