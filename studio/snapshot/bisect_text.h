// The result of a bisection for people.
#pragma once

#include <string>

#include "core/record/bisect_record.h"

namespace ipex_studio {

std::string bisectText(const BisectRecord& record);

// "The first wrong node is layer1.conv (aten::conv2d): 0.53 instead of 0.12 at [0, 3], because of fuse-activation#7."
std::string bisectSentence(const BisectRecord& record);

}  // namespace ipex_studio
