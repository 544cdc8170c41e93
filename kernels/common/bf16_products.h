// Whether this machine multiplies pairs of bf16 numbers.
#pragma once

#include <string>

namespace ipex_studio {

// True if this machine has products of bf16 for 512-bit vectors, and `isa` (a machine_facts tier) allows them.
bool mayUseBf16Products(const std::string& isa);

}  // namespace ipex_studio
