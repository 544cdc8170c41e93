// Fourier transforms of real frames: what fourier_simd.cpp hands to the code of one instruction set.
#pragma once

#include <cstdint>

#include "kernels/fourier/fourier_turns.h"

namespace ipex_studio {

// Frames f = row · frames + t of x[rows][length], at x[row][t · hop], of `size` numbers each.
struct FourierJob {
  std::int64_t rows = 0, length = 0;
  std::int64_t size = 0, hop = 0, frames = 0;  // frames of each row
  std::int64_t points = 0;                     // complex numbers that are transformed: size / 2, or size if that is odd
  FourierTurns turns;
  float scale = 1;
  bool windowed = false, magnitude = false;
  // Places of y: bin · bin_stride + row · row_stride + t · frame_stride, in results (numbers, or pairs).
  std::int64_t bins = 0, bin_stride = 0, row_stride = 0, frame_stride = 0;
};

}  // namespace ipex_studio
