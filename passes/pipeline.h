// The only ordered list of passes.
#pragma once

#include <vector>

#include "core/graph/pass.h"

namespace ipex_studio {

// In the order they run; reasons for the order stand beside each line in pipeline.cpp. Static lifetime.
const std::vector<const Pass*>& defaultPasses();

}  // namespace ipex_studio
