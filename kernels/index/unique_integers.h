// The values that integers take, ascending, and where each of them is.
#pragma once

#include <cstdint>
#include <vector>

namespace ipex_studio {

struct UniqueIntegers {
  std::vector<std::int64_t> values, counts;
  std::vector<std::int64_t> places;  // in values, of each number; empty unless asked for
};

UniqueIntegers uniqueIntegers(const std::int64_t* numbers, std::int64_t count, bool with_places);

}  // namespace ipex_studio
