// Sampling of images: what grid_sample_simd.cpp hands to the code of one instruction set.
#pragma once

#include <cstdint>

namespace ipex_studio {

// x[n][channels][height][width], grid[n][places][2], y[n][channels][places].
struct GridSampleJob {
  bool nearest = false, border = false, align_corners = false;
  std::int64_t channels = 0, height = 0, width = 0, places = 0;
  std::int64_t pieces = 1, piece = 0;  // of the places of an image
};

}  // namespace ipex_studio
