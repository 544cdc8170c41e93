// How elements that an index sends to the same place are combined.
#pragma once

#include <cstdint>

namespace ipex_studio {

enum class ScatterReduction : std::uint8_t {
  kSum,
  kProduct,
  kGreatest,  // NaN is greater than all
  kLeast,     // NaN is less than all
  // What a place holds before the first element, where its own value does not count.
  kUpdate,  // one of the elements; extremes may meet it twice
  kZero,
  kOne,
};

}  // namespace ipex_studio
