// Max pools with the places of their maxima: what pool_places_simd.cpp hands to the code of one instruction set.
#pragma once

#include <cstdint>

namespace ipex_studio {

// One axis of the windows.
struct PoolPlacesAxis {
  std::int64_t size = 1, results = 1, kernel = 1, stride = 1, padding = 0, dilation = 1;
  // Results [inner_begin, inner_end) have windows that lie inside of the source.
  std::int64_t inner_begin = 0, inner_end = 0;
};

// Planes of rows (y) and columns (x).
struct PoolPlacesJob {
  std::int64_t planes = 0;
  PoolPlacesAxis y, x;
};

}  // namespace ipex_studio
