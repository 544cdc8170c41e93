// The values that a calibration observes: those that INT8 operations would read or write. optimizeModel makes it if
// OptimizeOptions::calibrate is set; plain data that needs no graph any more.
#pragma once

#include <string>
#include <vector>

#include "core/quantization/recipe.h"

namespace ipex_studio {

struct CalibrationPoint {
  std::string key;        // RecipeValue::key
  bool clip = true;       // false: kAuto keeps the extremes, since a linear layer, matmul or sum reads the value
  int channel_axis = -1;  // axis of the channels for a product that reads it: 1 for convolutions, last for linear
};

// One result of a node of the graph before regions. Its number is the origin that the steps of the calibration module
// carry.
struct CalibrationResult {
  int point = -1;             // -1: not observed
  std::vector<int> operands;  // points that the node's lowered operation reads, per source; -1: not observed
};

struct CalibrationPlan {
  std::vector<CalibrationPoint> points;
  std::vector<CalibrationResult> results;
  std::vector<RecipeNode> candidates;   // operations that could be INT8, with the default rules applied
  std::vector<std::vector<int>> reads;  // per candidate: points it reads, base operands first
  std::vector<int> writes;              // per candidate: point of its result
};

}  // namespace ipex_studio
