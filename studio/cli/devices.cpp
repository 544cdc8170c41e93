// The command devices: what --device can ask for.
#include <fmt/format.h>

#include "core/record/records_json.h"
#include "studio/cli/commands.h"
#include "studio/job/devices.h"
#include "studio/snapshot/snapshot_index.h"

namespace ipex_studio {
namespace {

constexpr double kGiB = 1024.0 * 1024 * 1024;

std::string shown(const std::string& text) { return displayText(text, 120); }

std::string joined(const std::vector<std::string>& texts, const char* between) {
  std::string result;
  for (const std::string& text : texts) result += (result.empty() ? "" : between) + shown(text);
  return result;
}

// Its name, and indented below it what is known of it.
std::string describe(const DeviceRecord& device) {
  std::vector<std::string> facts{fmt::format("{}, {} {}, {:.1f} GiB", shown(device.type), device.units,
                                             device.version.empty() ? "cores" : "units",
                                             static_cast<double>(device.memory_bytes) / kGiB)};
  if (device.largest_bytes > 0)
    facts.back() += fmt::format(" ({:.1f} GiB at once)", static_cast<double>(device.largest_bytes) / kGiB);
  if (!device.version.empty())
    facts.push_back(fmt::format("{} {}, {}", shown(device.platform), shown(device.driver), shown(device.version)));
  if (!device.features.empty()) facts.push_back(joined(device.features, " "));
  if (!device.lacks.empty()) facts.push_back("cannot run plans: " + shown(device.lacks));
  std::string text = fmt::format("{:<18} {}\n", joined(device.asked_by, ", "), shown(device.name));
  for (const std::string& fact : facts) text += fmt::format("{:<18} {}\n", "", fact);
  return text;
}

}  // namespace

int printDevices(const CommandLine& line) {
  const DeviceList list = listDevices();
  if (line.json) {
    nlohmann::json json = toJson(list);
    json["schema"] = 1;
    printText(dumpJson(json) + "\n");
    return static_cast<int>(ExitCode::kOk);
  }
  std::string text = fmt::format("{:<18} {}\n", "--device", "what it is");
  for (const DeviceRecord& device : list.devices) text += describe(device);
  for (const std::string& fault : list.faults) text += displayText(fault, 400) + "\n";
  printText(text);
  return static_cast<int>(ExitCode::kOk);
}

}  // namespace ipex_studio
