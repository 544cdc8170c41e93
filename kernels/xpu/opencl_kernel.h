// A function of a program with its arguments: what one running step puts into a queue.
#pragma once

#include <array>
#include <cstddef>

#include "kernels/xpu/opencl_device.h"

namespace ipex_studio {

using WorkSize = std::array<std::size_t, 3>;

// Not shared between threads. The device outlives it.
class OpenClKernel {
 public:
  // Throws Error(kFailure) where the program has no such function.
  OpenClKernel(OpenClDevice& device, const DeviceProgram& program, const char* function);
  ~OpenClKernel();
  OpenClKernel(const OpenClKernel&) = delete;
  OpenClKernel& operator=(const OpenClKernel&) = delete;

  // A submission is begin(), the arguments in their order, and submit(), which returns the first error of all of
  // them, or CL_SUCCESS. Arguments are pointers to memory of the device and plain values. Each of `groups` work groups
  // has the size that the function was compiled for.
  void begin();
  void pointer(const void* data);
  template <class Value>
  void value(const Value& value) {
    keep(device_.api().clSetKernelArg(kernel_, index_++, sizeof value, &value));
  }
  cl_int submit(OpenClQueue& queue, const WorkSize& groups, const WorkSize& group_size);

 private:
  void keep(cl_int code) { code_ = code_ == CL_SUCCESS ? code : code_; }

  const OpenClDevice& device_;
  cl_kernel kernel_;
  cl_uint index_ = 0;
  cl_int code_ = CL_SUCCESS;
};

}  // namespace ipex_studio
