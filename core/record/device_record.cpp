#include "core/record/device_record.h"

namespace ipex_studio {

std::string numberedDevice(const std::string& device) {
  return device == "cpu" || device.find(':') != std::string::npos ? device : device + ":0";
}

}  // namespace ipex_studio
