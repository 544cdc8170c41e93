// An OpenCL driver that no machine has, for the loader to open. IPEX_MADE_UP_DRIVER says how it behaves:
//   works      one GPU of Intel's that can do everything
//   old        the same, of OpenCL 1.1
//   babbles    the same, whose texts and numbers mean nothing
//   lost       the same, gone when it is opened
//   two        the same and a second one, which is gone when it is opened
//   mixed      the same two, of which the first is of another vendor
//   no-compile the same, for which nothing can be compiled
//   no-memory  asked for devices, it has no memory
//   crash, hang, exit, close   asked for devices, it does that; "close" closes all descriptors, then never answers
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl_icd.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>

struct _cl_platform_id {
  const cl_icd_dispatch* dispatch;
};
struct _cl_device_id {
  const cl_icd_dispatch* dispatch;
  const char* name;
};
struct _cl_context {
  const cl_icd_dispatch* dispatch;
};
struct _cl_program {
  const cl_icd_dispatch* dispatch;
};

namespace {

extern const cl_icd_dispatch kDispatch;
_cl_platform_id the_platform{&kDispatch};
_cl_device_id the_devices[] = {{&kDispatch, "Made-up GPU"}, {&kDispatch, "Second made-up GPU"}};
_cl_context the_context{&kDispatch};
_cl_program the_program{&kDispatch};

std::string mode() {
  const char* text = std::getenv("IPEX_MADE_UP_DRIVER");
  return text == nullptr ? "works" : text;
}

cl_int give(const void* from, std::size_t count, std::size_t bytes, void* value, std::size_t* size) {
  if (size != nullptr) *size = count;
  if (value == nullptr) return CL_SUCCESS;
  if (bytes < count) return CL_INVALID_VALUE;
  std::memcpy(value, from, count);
  return CL_SUCCESS;
}

cl_int give(const std::string& text, std::size_t bytes, void* value, std::size_t* size) {
  return give(text.c_str(), text.size() + 1, bytes, value, size);
}

template <class Number>
cl_int giveNumber(Number number, std::size_t bytes, void* value, std::size_t* size) {
  return give(&number, sizeof number, bytes, value, size);
}

cl_int platformInfo(cl_platform_id, cl_platform_info what, std::size_t bytes, void* value, std::size_t* size) {
  switch (what) {
    case CL_PLATFORM_NAME:
      return give("Made-up", bytes, value, size);
    case CL_PLATFORM_EXTENSIONS:
      return give("cl_khr_icd", bytes, value, size);
    case CL_PLATFORM_ICD_SUFFIX_KHR:
      return give("MADE", bytes, value, size);
    case CL_PLATFORM_PROFILE:
      return give("FULL_PROFILE", bytes, value, size);
    case CL_PLATFORM_VERSION:
      return give("OpenCL 3.0 made up", bytes, value, size);
    default:
      return give("", bytes, value, size);
  }
}

cl_int deviceIds(cl_platform_id, cl_device_type, cl_uint entries, cl_device_id* devices, cl_uint* count) {
  const std::string how = mode();
  if (how == "no-memory") return CL_OUT_OF_HOST_MEMORY;
  if (how == "crash") ::raise(SIGSEGV);
  if (how == "exit") std::exit(0);
  if (how == "close") ::close_range(0, ~0U, 0);
  while (how == "hang" || how == "close") ::pause();
  const cl_uint here = how == "two" || how == "mixed" ? 2 : 1;
  if (count != nullptr) *count = here;
  for (cl_uint d = 0; devices != nullptr && d < std::min(entries, here); ++d) devices[d] = &the_devices[d];
  return CL_SUCCESS;
}

cl_int babble(std::size_t bytes, void* value, std::size_t* size) {
  if (size != nullptr) *size = 300;
  if (value != nullptr) std::memset(value, 0xff, bytes);
  return CL_SUCCESS;
}

cl_int deviceInfo(cl_device_id device, cl_device_info what, std::size_t bytes, void* value, std::size_t* size) {
  if (mode() == "babbles") return babble(bytes, value, size);
  switch (what) {
    case CL_DEVICE_NAME:
      return give(device->name, bytes, value, size);
    case CL_DEVICE_VERSION:
      return give(mode() == "old" ? "OpenCL 1.1" : "OpenCL 3.0 made up", bytes, value, size);
    case CL_DRIVER_VERSION:
      return give("7.5", bytes, value, size);
    case CL_DEVICE_EXTENSIONS:
      return give("cl_khr_fp16 cl_khr_integer_dot_product", bytes, value, size);
    case CL_DEVICE_TYPE:
      return giveNumber<cl_device_type>(CL_DEVICE_TYPE_GPU, bytes, value, size);
    case CL_DEVICE_VENDOR_ID:
      return giveNumber<cl_uint>(mode() == "mixed" && device == &the_devices[0] ? 0x10de : 0x8086, bytes, value, size);
    case CL_DEVICE_AVAILABLE:
    case CL_DEVICE_COMPILER_AVAILABLE:
      return giveNumber<cl_bool>(CL_TRUE, bytes, value, size);
    case CL_DEVICE_MAX_COMPUTE_UNITS:
      return giveNumber<cl_uint>(96, bytes, value, size);
    case CL_DEVICE_GLOBAL_MEM_SIZE:
      return giveNumber<cl_ulong>(cl_ulong{8} << 30, bytes, value, size);
    case CL_DEVICE_SVM_CAPABILITIES:
      return giveNumber<cl_device_svm_capabilities>(CL_DEVICE_SVM_COARSE_GRAIN_BUFFER, bytes, value, size);
    default:
      return CL_INVALID_VALUE;
  }
}

cl_int platformIds(cl_uint entries, cl_platform_id* platforms, cl_uint* count) {
  if (count != nullptr) *count = 1;
  if (platforms != nullptr && entries > 0) platforms[0] = &the_platform;
  return CL_SUCCESS;
}

using Notify = void(CL_CALLBACK*)(const char*, const void*, std::size_t, void*);

cl_context createContext(const cl_context_properties*, cl_uint, const cl_device_id* devices, Notify, void*,
                         cl_int* code) {
  const bool lost = mode() == "lost" || devices[0] == &the_devices[1];
  if (code != nullptr) *code = lost ? CL_DEVICE_NOT_AVAILABLE : CL_SUCCESS;
  return lost ? nullptr : &the_context;
}

cl_program createProgram(cl_context, cl_uint, const char**, const std::size_t*, cl_int* code) {
  if (code != nullptr) *code = CL_SUCCESS;
  return &the_program;
}

cl_int buildProgram(cl_program, cl_uint, const cl_device_id*, const char*, void(CL_CALLBACK*)(cl_program, void*),
                    void*) {
  return CL_BUILD_PROGRAM_FAILURE;
}

cl_int buildInfo(cl_program, cl_device_id, cl_program_build_info, std::size_t bytes, void* value, std::size_t* size) {
  return give("somewhere.cl:1:2: error: nothing is known here\nand more", bytes, value, size);
}

cl_int releaseContext(cl_context) { return CL_SUCCESS; }
cl_int releaseProgram(cl_program) { return CL_SUCCESS; }

cl_icd_dispatch makeDispatch() {
  cl_icd_dispatch dispatch{};
  dispatch.clGetPlatformIDs = &platformIds;
  dispatch.clGetPlatformInfo = &platformInfo;
  dispatch.clGetDeviceIDs = &deviceIds;
  dispatch.clGetDeviceInfo = &deviceInfo;
  dispatch.clCreateContext = &createContext;
  dispatch.clReleaseContext = &releaseContext;
  dispatch.clCreateProgramWithSource = &createProgram;
  dispatch.clBuildProgram = &buildProgram;
  dispatch.clGetProgramBuildInfo = &buildInfo;
  dispatch.clReleaseProgram = &releaseProgram;
  return dispatch;
}

const cl_icd_dispatch kDispatch = makeDispatch();

}  // namespace

extern "C" __attribute__((visibility("default"))) void* clGetExtensionFunctionAddress(const char* name) {
  if (std::strcmp(name, "clIcdGetPlatformIDsKHR") == 0) return reinterpret_cast<void*>(&platformIds);
  if (std::strcmp(name, "clGetPlatformInfo") == 0) return reinterpret_cast<void*>(&platformInfo);
  return nullptr;
}
