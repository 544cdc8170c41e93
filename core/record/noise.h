// Whether the machine was quiet while a run was timed. Pure functions over records.
#pragma once

#include <string>

#include "core/record/records.h"

namespace ipex_studio {

enum class NoiseLevel {
  kUnknown,  // measured too briefly, or by a version that did not look
  kQuiet,
  kBusy,       // others used the CPUs too
  kThrottled,  // the clock fell, or a quota held threads back
};

struct NoiseVerdict {
  NoiseLevel level = NoiseLevel::kUnknown;
  std::string text;  // why, as a clause: "other programs used 1.1 of 2 CPUs"; empty when quiet

  // True if times and ratios are not to be relied on.
  bool disturbed() const { return level == NoiseLevel::kBusy || level == NoiseLevel::kThrottled; }
};

NoiseVerdict judgeNoise(const RunRecord& run);
// The worst of a job's runs.
NoiseVerdict judgeNoise(const JobRecord& job);
// The worse of two.
const NoiseVerdict& worseNoise(const NoiseVerdict& a, const NoiseVerdict& b);

// "quiet", "busy", "throttled"; "" for unknown. The database and JSON say the same.
const char* noiseName(NoiseLevel level);
NoiseLevel noiseLevel(const std::string& name);

// What stands beside a ratio: "busy: other programs used 1.1 of 2 CPUs; measure again when quiet". Empty for unknown.
std::string noiseSentence(const NoiseVerdict& verdict);

}  // namespace ipex_studio
