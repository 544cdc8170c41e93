// Reach of a call of as_strided in TorchScript code, where its numbers are constants.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace ipex_studio {

// Reads the arguments of a call, "(x, [2, 3], [3, 1], 4)", or without x where the tensor stands before a dot
// (`method`). Returns the last element of the memory that it reaches, counted from 0; -1 if it reaches none. nullopt
// where a number is computed, negative or beyond 2^48.
std::optional<std::int64_t> lastElementReached(std::string_view arguments, bool method);

}  // namespace ipex_studio
