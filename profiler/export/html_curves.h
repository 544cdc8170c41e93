// Curves for HTML pages: samples per second by batch size, a line for each precision and split, and the numbers.
#pragma once

#include <string>

#include "core/record/curves_record.h"

namespace ipex_studio {

// Empty without points. Uses classes of report.css; needs no script.
std::string curvesHtml(const CurvesRecord& curves);

}  // namespace ipex_studio
