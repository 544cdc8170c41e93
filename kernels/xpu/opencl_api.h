// The functions of OpenCL, taken at run time from the machine's loader: no program of ours links it, and a machine
// without it loses nothing.
#pragma once

#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>

#include <string>

namespace ipex_studio {

// clang-format off: one function a line.
#define IPEX_OPENCL_FUNCTIONS(FUNCTION)        \
  FUNCTION(clGetPlatformIDs)                   \
  FUNCTION(clGetPlatformInfo)                  \
  FUNCTION(clGetDeviceIDs)                     \
  FUNCTION(clGetDeviceInfo)                    \
  FUNCTION(clCreateContext)                    \
  FUNCTION(clReleaseContext)                   \
  FUNCTION(clCreateCommandQueueWithProperties) \
  FUNCTION(clReleaseCommandQueue)              \
  FUNCTION(clFinish)                           \
  FUNCTION(clReleaseEvent)                     \
  FUNCTION(clGetEventProfilingInfo)            \
  FUNCTION(clCreateProgramWithSource)          \
  FUNCTION(clCreateProgramWithBinary)          \
  FUNCTION(clBuildProgram)                     \
  FUNCTION(clGetProgramInfo)                   \
  FUNCTION(clGetProgramBuildInfo)              \
  FUNCTION(clReleaseProgram)                   \
  FUNCTION(clCreateKernel)                     \
  FUNCTION(clReleaseKernel)                    \
  FUNCTION(clSetKernelArg)                     \
  FUNCTION(clSetKernelArgSVMPointer)           \
  FUNCTION(clEnqueueNDRangeKernel)             \
  FUNCTION(clEnqueueSVMMemcpy)                 \
  FUNCTION(clSVMAlloc)                         \
  FUNCTION(clSVMFree)
// clang-format on

struct OpenClApi {
#define IPEX_MEMBER(name) decltype(&::name) name = nullptr;
  IPEX_OPENCL_FUNCTIONS(IPEX_MEMBER)
#undef IPEX_MEMBER
};

// The loader's functions; null, and the reason in a sentence, where there is none. Loaded once and never closed, since
// drivers leave threads behind. Thread-safe.
const OpenClApi* openClApi(std::string* why);

// "CL_OUT_OF_HOST_MEMORY, the host has too little memory"; a static text.
const char* openClErrorText(cl_int code);

}  // namespace ipex_studio
