#include "kernels/xpu/opencl_kernel.h"

#include <fmt/format.h>

#include "core/base/error.h"

namespace ipex_studio {

OpenClKernel::OpenClKernel(OpenClDevice& device, const DeviceProgram& program, const char* function) : device_(device) {
  cl_int code = CL_SUCCESS;
  kernel_ = device.api().clCreateKernel(device.program(program), function, &code);
  if (kernel_ == nullptr)
    throw Error(ExitCode::kFailure, fmt::format("The program {} has no function {} ({}); use --device cpu.",
                                                program.name, function, openClErrorText(code)));
}

OpenClKernel::~OpenClKernel() { device_.api().clReleaseKernel(kernel_); }

void OpenClKernel::begin() {
  index_ = 0;
  code_ = CL_SUCCESS;
}

void OpenClKernel::pointer(const void* data) { keep(device_.api().clSetKernelArgSVMPointer(kernel_, index_++, data)); }

cl_int OpenClKernel::submit(OpenClQueue& queue, const WorkSize& groups, const WorkSize& group_size) {
  if (code_ != CL_SUCCESS) return code_;
  const WorkSize items{groups[0] * group_size[0], groups[1] * group_size[1], groups[2] * group_size[2]};
  return device_.api().clEnqueueNDRangeKernel(queue.get(), kernel_, 3, nullptr, items.data(), group_size.data(), 0,
                                              nullptr, queue.nextEvent());
}

}  // namespace ipex_studio
