// Every pass by name; each is defined in the file of that name. The order they run in is pipeline.cpp's.
#pragma once

#include "core/graph/pass.h"

namespace ipex_studio {

extern const Pass kEliminateCommonSubexpressions;
extern const Pass kEliminateDeadCode;
extern const Pass kEliminateDropout;

}  // namespace ipex_studio
