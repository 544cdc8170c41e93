// Opens the loader, and names the errors of drivers.
#include "kernels/xpu/opencl_api.h"

#include <dlfcn.h>
#include <fmt/format.h>

namespace ipex_studio {
namespace {

constexpr char kLoader[] = "libOpenCL.so.1";
constexpr char kInstallOne[] = "install one and a driver by samples/setup.sh --xpu";

struct Loaded {
  OpenClApi api;
  std::string why;  // empty: the functions are there
};

template <class Function>
void take(void* library, const char* name, Function* function, std::string* why) {
  *function = reinterpret_cast<Function>(::dlsym(library, name));
  if (*function == nullptr)
    *why = fmt::format("The OpenCL loader {} is too old (no {}); {}.", kLoader, name, kInstallOne);
}

Loaded load() {
  Loaded loaded;
  void* library = ::dlopen(kLoader, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    loaded.why = fmt::format("No OpenCL loader ({}) was found; {}.", kLoader, kInstallOne);
    return loaded;
  }
#define IPEX_TAKE(name) take(library, #name, &loaded.api.name, &loaded.why);
  IPEX_OPENCL_FUNCTIONS(IPEX_TAKE)
#undef IPEX_TAKE
  return loaded;
}

struct NamedError {
  cl_int code;
  const char* text;
};

constexpr NamedError kErrors[] = {
    {CL_DEVICE_NOT_FOUND, "CL_DEVICE_NOT_FOUND, there is no such device"},
    {CL_DEVICE_NOT_AVAILABLE, "CL_DEVICE_NOT_AVAILABLE, the device is lost or taken"},
    {CL_COMPILER_NOT_AVAILABLE, "CL_COMPILER_NOT_AVAILABLE, the driver has no compiler"},
    {CL_MEM_OBJECT_ALLOCATION_FAILURE, "CL_MEM_OBJECT_ALLOCATION_FAILURE, the device has too little memory"},
    {CL_OUT_OF_RESOURCES, "CL_OUT_OF_RESOURCES, the device has too little memory or was lost"},
    {CL_OUT_OF_HOST_MEMORY, "CL_OUT_OF_HOST_MEMORY, the host has too little memory"},
    {CL_BUILD_PROGRAM_FAILURE, "CL_BUILD_PROGRAM_FAILURE, the driver cannot compile the program"},
    {CL_INVALID_PLATFORM, "CL_INVALID_PLATFORM"},
    {CL_INVALID_DEVICE, "CL_INVALID_DEVICE"},
    {CL_INVALID_VALUE, "CL_INVALID_VALUE"},
    {CL_INVALID_BINARY, "CL_INVALID_BINARY, the compiled program is not for this driver"},
};

}  // namespace

const OpenClApi* openClApi(std::string* why) {
  static const Loaded loaded = load();
  if (loaded.why.empty()) return &loaded.api;
  *why = loaded.why;
  return nullptr;
}

const char* openClErrorText(cl_int code) {
  for (const NamedError& error : kErrors) {
    if (error.code == code) return error.text;
  }
  return "an error that OpenCL has no name for";
}

}  // namespace ipex_studio
