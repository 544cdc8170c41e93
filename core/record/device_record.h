// The devices that --device can ask for, as `ipex-studio devices` lists them. Crosses the pipe as other records do.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace ipex_studio {

struct DeviceRecord {
  std::vector<std::string> asked_by;  // values of --device: "cpu", or "opencl:1" and "xpu:0"
  std::string name;                   // this and the next four as the driver gives them
  std::string vendor;
  std::string platform;
  std::string driver;   // its version
  std::string version;  // "OpenCL 3.0 …"; empty for the host
  std::string type;     // "cpu", "gpu", "accelerator" or "other"
  std::int64_t memory_bytes = 0;
  std::int64_t largest_bytes = 0;  // of one allocation; 0: unknown
  std::int32_t units = 0;          // cores or compute units
  std::vector<std::string> features;
  std::string lacks;  // half a sentence: why no plan can run on it; empty: one can
};

struct DeviceList {
  std::vector<DeviceRecord> devices;
  std::vector<std::string> faults;  // sentences about drivers that are missing or failed
};

// "xpu:0" for "xpu": a value of --device as `asked_by` has it.
std::string numberedDevice(const std::string& device);

nlohmann::json toJson(const DeviceRecord& record);
nlohmann::json toJson(const DeviceList& record);
// They are read by recordFromJson (core/record/records_json.h).

}  // namespace ipex_studio
