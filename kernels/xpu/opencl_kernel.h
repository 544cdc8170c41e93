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

  // Sets the arguments in their order: pointers to memory of the device, and plain values. Returns the first error, or
  // CL_SUCCESS.
  template <class... Arguments>
  cl_int set(const Arguments&... arguments) {
    cl_uint index = 0;
    cl_int code = CL_SUCCESS;
    ((code = code == CL_SUCCESS ? setOne(index++, arguments) : code), ...);
    return code;
  }
  // Submits it; each of `groups` work groups has the size that the function was compiled for.
  cl_int submit(OpenClQueue& queue, const WorkSize& groups, const WorkSize& group_size);

 private:
  cl_int setOne(cl_uint index, const void* pointer) {
    return device_.api().clSetKernelArgSVMPointer(kernel_, index, pointer);
  }
  cl_int setOne(cl_uint index, void* pointer) { return setOne(index, static_cast<const void*>(pointer)); }
  template <class Value>
  cl_int setOne(cl_uint index, const Value& value) {
    return device_.api().clSetKernelArg(kernel_, index, sizeof value, &value);
  }

  const OpenClDevice& device_;
  cl_kernel kernel_;
};

}  // namespace ipex_studio
