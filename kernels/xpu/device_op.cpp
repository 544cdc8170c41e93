#include "kernels/xpu/device_op.h"

#include "kernels/xpu/program_texts.h"

namespace ipex_studio {
namespace {

class DeviceState final : public ExecState {
 public:
  DeviceState(OpenClDevice& device, const DeviceProgram& program, const char* function)
      : kernel(device, program, function) {}
  OpenClKernel kernel;
};

}  // namespace

DeviceOp::DeviceOp(OpenClDevice& device, const char* program, const char* function, const WorkSize& group_size)
    : device_(device), program_(deviceProgram(program)), function_(function), group_size_(group_size) {
  device_.program(program_);
}

void DeviceOp::setItems(std::int64_t x, std::int64_t y, std::int64_t z) {
  const std::int64_t items[] = {x, y, z};
  for (std::size_t axis = 0; axis < 3; ++axis)
    groups_[axis] = (static_cast<std::size_t>(items[axis]) + group_size_[axis] - 1) / group_size_[axis];
}

std::unique_ptr<ExecState> DeviceOp::newState() const {
  return std::make_unique<DeviceState>(device_, program_, function_);
}

void DeviceOp::execute(ExecState* state, const void* const* src, void* const* dst, void*) const {
  OpenClKernel& kernel = static_cast<DeviceState*>(state)->kernel;
  kernel.begin();
  setArguments(kernel, src, dst);
  const cl_int code = kernel.submit(static_cast<OpenClQueue&>(*state->queue), groups_, group_size_);
  if (code != CL_SUCCESS) state->fail(openClErrorText(code));
}

void ChainOp::setArguments(OpenClKernel& kernel, const void* const* src, void* const* dst) const {
  setOwn(kernel, src);
  kernel.value(job.chain);
  kernel.pointer(dst[0]);
  for (std::size_t tensor = 0; tensor + 1 < DeviceChain::kMaxTensors; ++tensor) {
    const bool used = tensor < job.sources.size();
    kernel.pointer(used ? src[job.sources[tensor]] : dst[0]);
  }
}

}  // namespace ipex_studio
