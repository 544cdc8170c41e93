// The devices of one job side by side, node by node: times, kernels, errors, what copies cost, and which device wins.
// Pure functions.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/record/records.h"
#include "profiler/statistics.h"

namespace ipex_studio {

// A node on one device. A plan of a device runs on the host what that has no kernel for.
struct DeviceShare {
  std::int64_t p50_ns = 0;  // sum of medians of its steps without copies; 0: there are none
  std::int64_t copy_ns = 0;
  std::string kernels;  // with commas between
  double error = -1;    // max |Δ| / max |result in FP32| of the node alone; negative: not compared
};

struct DeviceRow {
  std::string name;
  std::string kind;
  std::vector<DeviceShare> shares;  // per device
  std::int32_t fastest =
      -1;  // place of the device; -1: none is clearly, not all have it, or the host computes it for all
};

struct DeviceRun {
  std::string device;
  double p50_ns = 0;
  Interval ratio;            // median on the first device / median on this one: above 1, this one is faster
  std::int64_t copies = 0;   // count of copies between devices in a run
  std::int64_t copy_ns = 0;  // sum of their medians
  std::int64_t wins = 0;     // count of nodes that are fastest on it
  AccuracyRecord accuracy;
};

struct DeviceComparison {
  std::string precision;
  std::vector<DeviceRun> runs;  // in the order of the request
  std::vector<DeviceRow> rows;  // slowest first
};

// One comparison for each precision in which the job was measured on two devices or more.
std::vector<DeviceComparison> compareDevices(const JobRecord& job);

// The comparisons as text; empty if there are none. Names from the model are made printable.
std::string deviceTable(const JobRecord& job);
nlohmann::json toJson(const DeviceComparison& comparison);

}  // namespace ipex_studio
