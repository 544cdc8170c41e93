// Asks platforms for their devices and devices for their properties; what a driver does not know stays empty.
#include "kernels/xpu/opencl_devices.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace ipex_studio {
namespace {

constexpr std::size_t kLongestText = 1 << 16;  // a driver's list of extensions has some KB
constexpr cl_uint kMaxDevices = 256;
constexpr cl_uint kIntel = 0x8086;

// A text of `get`, which is clGetPlatformInfo or clGetDeviceInfo without its first two arguments; empty where it fails.
template <class Get>
std::string textOf(const Get& get) {
  std::size_t bytes = 0;
  if (get(0, nullptr, &bytes) != CL_SUCCESS || bytes == 0 || bytes > kLongestText) return "";
  std::string text(bytes, '\0');
  if (get(bytes, text.data(), nullptr) != CL_SUCCESS) return "";
  text.resize(text.find('\0') == std::string::npos ? text.size() : text.find('\0'));
  return text;
}

// Reads the properties of one device.
class Properties {
 public:
  Properties(const OpenClApi& api, cl_device_id device) : api_(api), device_(device) {}

  std::string text(cl_device_info what) const {
    return textOf([&](std::size_t bytes, void* value, std::size_t* size) {
      return api_.clGetDeviceInfo(device_, what, bytes, value, size);
    });
  }
  template <class Number>
  Number number(cl_device_info what) const {
    Number value = 0;
    return api_.clGetDeviceInfo(device_, what, sizeof value, &value, nullptr) == CL_SUCCESS ? value : Number{0};
  }

 private:
  const OpenClApi& api_;
  cl_device_id device_;
};

// 200 of "OpenCL 2.0 anything"; 0 where the text has another form.
int versionOf(const std::string& text) {
  int major = 0, minor = 0;
  if (std::sscanf(text.c_str(), "OpenCL %d.%d", &major, &minor) != 2) return 0;
  return major < 0 || major > 99 || minor < 0 || minor > 9 ? 0 : 100 * major + 10 * minor;
}

bool hasWord(const std::string& words, const std::string& word) {
  return (" " + words + " ").find(" " + word + " ") != std::string::npos;
}

const char* typeOf(cl_device_type type) {
  if ((type & CL_DEVICE_TYPE_GPU) != 0) return "gpu";
  if ((type & CL_DEVICE_TYPE_CPU) != 0) return "cpu";
  return (type & CL_DEVICE_TYPE_ACCELERATOR) != 0 ? "accelerator" : "other";
}

std::vector<std::string> featuresOf(const Properties& device, int version) {
  const std::string extensions = device.text(CL_DEVICE_EXTENSIONS);
  const auto svm =
      version >= 200 ? device.number<cl_device_svm_capabilities>(CL_DEVICE_SVM_CAPABILITIES) : cl_bitfield{0};
  const bool sub_groups = hasWord(extensions, "cl_khr_subgroups") || hasWord(extensions, "cl_intel_subgroups") ||
                          (version >= 210 && device.number<cl_uint>(CL_DEVICE_MAX_NUM_SUB_GROUPS) > 0);
  std::vector<std::string> features;
  const auto add = [&](bool has, const char* name) {
    if (has) features.emplace_back(name);
  };
  add(hasWord(extensions, "cl_khr_fp16"), "fp16");
  add(device.number<cl_device_fp_config>(CL_DEVICE_DOUBLE_FP_CONFIG) != 0, "fp64");
  add(hasWord(extensions, "cl_khr_integer_dot_product"), "int8-dot-product");
  add(sub_groups, "sub-groups");
  add(hasWord(extensions, "cl_intel_unified_shared_memory"), "usm");
  add(device.number<cl_device_local_mem_type>(CL_DEVICE_LOCAL_MEM_TYPE) == CL_LOCAL, kOwnLocalMemory);
  add((svm & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER) != 0, "svm");
  add((svm & CL_DEVICE_SVM_FINE_GRAIN_BUFFER) != 0, "svm-fine");
  add((svm & CL_DEVICE_SVM_FINE_GRAIN_SYSTEM) != 0, "svm-system");
  return features;
}

// Half a sentence: what plans need and the device has not.
std::string lackOf(const Properties& device, const DeviceRecord& record, int version) {
  const auto has = [&](const char* feature) {
    return std::find(record.features.begin(), record.features.end(), feature) != record.features.end();
  };
  if (version < 200)
    return fmt::format("its driver speaks \"{}\", and 2.0 is the oldest that plans can use", record.version);
  if (device.number<cl_bool>(CL_DEVICE_AVAILABLE) == CL_FALSE) return "its driver says that it is not available";
  if (device.number<cl_bool>(CL_DEVICE_COMPILER_AVAILABLE) == CL_FALSE) return "its driver has no compiler";
  if (record.memory_bytes == 0) return "its driver reports no memory";
  return has("svm") ? "" : "its driver has no shared virtual memory";
}

DeviceRecord describeDevice(const Properties& device) {
  DeviceRecord record;
  record.name = device.text(CL_DEVICE_NAME);
  record.vendor = device.text(CL_DEVICE_VENDOR);
  record.driver = device.text(CL_DRIVER_VERSION);
  record.version = device.text(CL_DEVICE_VERSION);
  record.type = typeOf(device.number<cl_device_type>(CL_DEVICE_TYPE));
  const auto bytes = [&](cl_device_info what) {
    return static_cast<std::int64_t>(std::min<cl_ulong>(device.number<cl_ulong>(what), INT64_MAX));
  };
  record.memory_bytes = bytes(CL_DEVICE_GLOBAL_MEM_SIZE);
  record.largest_bytes = bytes(CL_DEVICE_MAX_MEM_ALLOC_SIZE);
  record.units =
      static_cast<std::int32_t>(std::min<cl_uint>(device.number<cl_uint>(CL_DEVICE_MAX_COMPUTE_UNITS), INT32_MAX));
  const int version = versionOf(record.version);
  record.features = featuresOf(device, version);
  record.lacks = lackOf(device, record, version);
  return record;
}

// Collects the devices of one platform after another.
class Finder {
 public:
  Finder(const OpenClApi& api, const std::function<void(const std::string&)>& asking, std::vector<std::string>* faults)
      : api_(api), asking_(asking), faults_(*faults) {}

  std::vector<FoundDevice> find() {
    asking_("drivers were loaded");
    for (cl_platform_id platform : platforms()) addPlatform(platform);
    return std::move(found_);
  }

 private:
  std::vector<cl_platform_id> platforms() {
    cl_uint count = 0;
    const cl_int code = api_.clGetPlatformIDs(0, nullptr, &count);
    constexpr cl_int kNoPlatform = -1001;  // CL_PLATFORM_NOT_FOUND_KHR
    if (code == kNoPlatform || (code == CL_SUCCESS && count == 0)) {
      faults_.emplace_back("No OpenCL driver is installed; install one by samples/setup.sh --xpu.");
      return {};
    }
    std::vector<cl_platform_id> platforms(std::min(count, kMaxDevices));
    if (code == CL_SUCCESS)
      api_.clGetPlatformIDs(static_cast<cl_uint>(platforms.size()), platforms.data(), nullptr);
    else
      faults_.push_back(fmt::format("The OpenCL loader lists no drivers ({}).", openClErrorText(code)));
    return platforms;
  }

  void addPlatform(cl_platform_id platform) {
    const std::string name = textOf([&](std::size_t bytes, void* value, std::size_t* size) {
      return api_.clGetPlatformInfo(platform, CL_PLATFORM_NAME, bytes, value, size);
    });
    asking_(fmt::format("\"{}\" was asked for its devices", name));
    std::vector<cl_device_id> devices(kMaxDevices);
    cl_uint count = 0;
    const cl_int code = api_.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, kMaxDevices, devices.data(), &count);
    if (code != CL_SUCCESS) {
      faults_.push_back(fmt::format("The OpenCL driver \"{}\" lists no devices ({}).", name, openClErrorText(code)));
      return;
    }
    devices.resize(std::min(count, kMaxDevices));
    for (cl_device_id device : devices) addDevice(platform, name, device);
  }

  void addDevice(cl_platform_id platform, const std::string& platform_name, cl_device_id device) {
    const Properties properties(api_, device);
    FoundDevice found{platform, device, describeDevice(properties)};
    found.record.platform = platform_name;
    found.record.asked_by.push_back(fmt::format("opencl:{}", found_.size()));
    if (found.record.type == "gpu" && properties.number<cl_uint>(CL_DEVICE_VENDOR_ID) == kIntel)
      found.record.asked_by.push_back(fmt::format("xpu:{}", intel_gpus_++));
    found_.push_back(std::move(found));
  }

  const OpenClApi& api_;
  const std::function<void(const std::string&)>& asking_;
  std::vector<std::string>& faults_;
  std::vector<FoundDevice> found_;
  int intel_gpus_ = 0;
};

}  // namespace

std::vector<FoundDevice> findOpenClDevices(const std::function<void(const std::string& what)>& asking,
                                           std::vector<std::string>* faults) {
  std::string why;
  const OpenClApi* const api = openClApi(&why);
  if (api != nullptr) return Finder(*api, asking, faults).find();
  faults->push_back(why);
  return {};
}

}  // namespace ipex_studio
