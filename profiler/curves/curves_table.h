// Curves for a terminal and for other programs.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "core/record/curves_record.h"

namespace ipex_studio {

// A row a point with what it is best at, then what was left out and the sentence on the best split.
std::string curvesTable(const CurvesRecord& curves, double limit_ms, bool color);

// {"points": [{"precision", "batch", "threads", "instances", "p50_ms" …}], "best": {"throughput": index …},
// "sentence", "notes", "noise", "complete"}; null for numbers that are not known.
nlohmann::json curvesJson(const CurvesRecord& curves, double limit_ms);

// Names the marks of a point: "most samples/s, least latency"; empty: none.
std::string curveMarks(const CurvesRecord& curves, double limit_ms, std::size_t point);

}  // namespace ipex_studio
