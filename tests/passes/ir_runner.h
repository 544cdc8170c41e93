// Runs one .ir case: the rewritten graph as a whole, lint, idempotence, origins, remarks, aliasing and the numbers.
#pragma once

#include <string>

#include "tests/passes/ir_case.h"

namespace ipex_studio {

// Empty when everything holds, else what does not, for a person to read. With `bless` a graph that differs is written
// into the file as the new expectation instead.
std::string runCase(const IrCase& test, bool bless = false);

// Makes the operators of ipex_studio:: known, where their library was built.
bool loadOperators();

}  // namespace ipex_studio
