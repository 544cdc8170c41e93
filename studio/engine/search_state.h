// The state of a search over precisions as text, so that an interrupted search resumes.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/record/records.h"

namespace ipex_studio {

struct SearchState {
  std::string data;                              // DataSet::fingerprint
  std::string calibration;                       // of an unfinished calibration
  std::string recipe;                            // of a finished one
  std::map<std::string, double> sensitivity_db;  // by RecipeNode::key
  std::map<std::string, TradeoffRecord> trials;  // by assignmentKey

  std::string text() const;
  // Empty text: a new search on `data`. Throws Error(kUsage) when the text is damaged or of other data.
  static SearchState read(const std::string& text, const std::string& data);
  // The assignment itself (precision_costs.h), "bf16" where all of it is.
  static std::string assignmentKey(const std::string& assignment);
};

}  // namespace ipex_studio
