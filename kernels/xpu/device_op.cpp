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

DeviceOp::DeviceOp(OpenClDevice& device, const std::string& program, const char* function, const WorkSize& group_size)
    : device_(device), program_(deviceProgram(program)), function_(function), group_size_(group_size) {
  device_.program(program_);
}

void DeviceOp::setItems(std::int64_t x, std::int64_t y, std::int64_t z) {
  launches_.clear();
  addItems(x, y, z);
}

void DeviceOp::addItems(std::int64_t x, std::int64_t y, std::int64_t z) {
  const std::int64_t items[] = {x, y, z};
  WorkSize groups{};
  for (std::size_t axis = 0; axis < 3; ++axis)
    groups[axis] = (static_cast<std::size_t>(items[axis]) + group_size_[axis] - 1) / group_size_[axis];
  launches_.push_back(groups);
}

std::unique_ptr<ExecState> DeviceOp::newState() const {
  return std::make_unique<DeviceState>(device_, program_, function_);
}

void DeviceOp::execute(ExecState* state, const void* const* src, void* const* dst, void* scratch) const {
  OpenClKernel& kernel = static_cast<DeviceState*>(state)->kernel;
  auto& queue = static_cast<OpenClQueue&>(*state->queue);
  for (std::size_t launch = 0; launch < launches_.size(); ++launch) {
    kernel.begin();
    setArguments(kernel, {launch, src, dst, scratch, queue});
    const cl_int code = kernel.submit(queue, launches_[launch], group_size_);
    if (code != CL_SUCCESS) state->fail(openClErrorText(code));
  }
}

void setChain(OpenClKernel& kernel, const ChainJob& job, const void* const* src, void* dst) {
  kernel.value(job.chain);
  kernel.pointer(dst);
  for (std::size_t tensor = 0; tensor + 1 < DeviceChain::kMaxTensors; ++tensor) {
    const bool used = tensor < job.sources.size();
    kernel.pointer(used ? src[job.sources[tensor]] : dst);
  }
}

void ChainOp::setArguments(OpenClKernel& kernel, const Launch& launch) const {
  setOwn(kernel, launch.src);
  setChain(kernel, job, launch.src, launch.dst[0]);
}

}  // namespace ipex_studio
