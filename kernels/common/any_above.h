// The look for floats that are not finite.
#pragma once

#include <string>

#include "core/op/kernel.h"

namespace ipex_studio {

// The function for the best instructions that `isa` (a tier of machine_facts) allows.
AnyAbove anyAboveFor(const std::string& isa);

}  // namespace ipex_studio
