// The way from the baseline's time to ours as a section of a report.
#pragma once

#include <string>

#include "profiler/waterfall.h"

namespace ipex_studio {

// A row a cause with its bar, its interval and its largest parts; empty text without bars.
std::string waterfallHtml(const Waterfall& waterfall);

}  // namespace ipex_studio
