// Helpers that make the cells of panels' tables.
#pragma once

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "studio/snapshot/snapshot_index.h"
#include "studio/snapshot/snapshot_tables.h"

namespace ipex_studio {

constexpr double kNotMeasured = std::numeric_limits<double>::quiet_NaN();

inline double ms(double ns) { return ns / 1e6; }
inline double whole(std::int64_t number) { return static_cast<double>(number); }
// The number of a cell; zero stands for "not measured".
inline double orUnknown(double number) { return number > 0 ? number : kNotMeasured; }

inline std::string originsText(const std::vector<OriginId>& origins) {
  std::string text;
  for (const OriginId origin : origins) text += (text.empty() ? "" : " ") + std::to_string(origin);
  return text;
}

inline std::vector<std::pair<const char*, const RunIndex*>> runsOf(const JobIndex& index) {
  std::vector<std::pair<const char*, const RunIndex*>> runs;
  if (index.baseline.run != nullptr) runs.emplace_back("baseline", &index.baseline);
  if (index.optimized.run != nullptr) runs.emplace_back("optimized", &index.optimized);
  return runs;
}

}  // namespace ipex_studio
