// How elements that an index sends to the same place are combined.
#pragma once

#include <cstdint>

namespace ipex_studio {

enum class ScatterReduction : std::uint8_t {
  kSum,
  kProduct,
  kGreatest,  // NaN is greater than all
  kLeast,     // NaN is less than all
  // Values that a place begins from where its own does not count.
  kUpdate,  // one of the elements; extremes may meet it twice
  kZero,
  kOne,
};

}  // namespace ipex_studio
