// Runs one .ir case: compares the whole rewritten graph, and checks lint, idempotence, origins, remarks, aliasing and
// numbers.
#pragma once

#include <string>

#include "tests/passes/ir_case.h"

namespace ipex_studio {

// Returns the failures for a person to read, empty if everything holds. With `bless` a graph that differs is written
// into the file as the new expectation instead, but only where its numbers hold.
std::string runCase(const IrCase& test, bool bless = false);

// Loads the operators of ipex_studio:: if their library was built.
bool loadOperators();

}  // namespace ipex_studio
