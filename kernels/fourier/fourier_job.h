// Fourier transforms of real frames: what fourier_simd.cpp hands to the code of one instruction set.
#pragma once

#include <cstdint>
#include <vector>

namespace ipex_studio {

// One pass over the points, for lines whose length is a product of the radices of all passes.
struct FourierStage {
  std::int64_t radix = 1;
  std::int64_t parts = 1;   // the length before this pass, over the radix
  std::int64_t stride = 1;  // product of the radices before
  // cos and sin of -2π·p·k/(radix·parts): [parts][radix - 1] pairs
  std::vector<float> turns;
  // cos and sin of -2π·j·k/radix: [radix][radix] pairs; empty where the radix has code of its own
  std::vector<float> matrix;
};

// Frames f = row · frames + t of x[rows][length], at x[row][t · hop], of `size` numbers each.
struct FourierJob {
  std::int64_t rows = 0, length = 0;
  std::int64_t size = 0, hop = 0, frames = 0;  // frames of each row
  std::int64_t points = 0;                     // complex numbers that are transformed: size / 2, or size if that is odd
  std::vector<FourierStage> stages;
  // Even sizes: cos and sin of -2π·k/size, for k up to points.
  std::vector<float> half_turns;
  float scale = 1;
  bool windowed = false, magnitude = false;
  // Places of y: bin · bin_stride + row · row_stride + t · frame_stride, in results (numbers, or pairs).
  std::int64_t bins = 0, bin_stride = 0, row_stride = 0, frame_stride = 0;
};

}  // namespace ipex_studio
