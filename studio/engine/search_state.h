// The state of a search over precisions as text, so that an interrupted search resumes.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/record/records.h"

namespace ipex_studio {

struct SearchState {
  std::string data;                              // DataSet::fingerprint
  std::string calibration;                       // state of an unfinished calibration
  std::string recipe;                            // recipe of a finished calibration
  std::map<std::string, double> sensitivity_db;  // by RecipeNode::key
  std::map<std::string, TradeoffRecord> trials;  // by assignmentKey

  std::string text() const;
  // Reads a state; an empty text begins a new search on `data`. Throws Error(kUsage) when the text is damaged or
  // belongs to other data.
  static SearchState read(const std::string& text, const std::string& data);
  // Key of a trial: the assignment itself (precision_costs.h), or "bf16" if everything is in BF16.
  static std::string assignmentKey(const std::string& assignment);
};

}  // namespace ipex_studio
