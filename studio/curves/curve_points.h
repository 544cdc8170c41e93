// The points that curves are measured at, chosen from the machine and from what is asked for. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/record/curves_record.h"
#include "core/record/request.h"

namespace ipex_studio {

// A split of the cores: instances, and the threads of each.
struct CoreSplit {
  std::int32_t threads = 1;
  std::int32_t instances = 1;

  bool operator==(const CoreSplit& other) const { return threads == other.threads && instances == other.instances; }
};

// The splits of `cores` that the request asks for, fewest instances first, then fewest threads. Without lists: powers
// of two of threads and all cores, each with one instance and with as many as there is room for. `notes` gets a
// sentence on each split that needs more cores than there are. `one_instance`: the model answers one request at a time.
std::vector<CoreSplit> coreSplits(const CurvesRequest& request, std::int32_t cores, bool one_instance,
                                  std::vector<std::string>* notes);

// How long a turn of each point takes, and how often each has one.
struct CurveRounds {
  double turn_s = 0;
  int rounds = 0;
};
CurveRounds curveRounds(double time_s, std::size_t points);

}  // namespace ipex_studio
