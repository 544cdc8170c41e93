// The passes of a Fourier transform and the factors of each, made when a kernel is prepared.
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

// All that a transform of `points` complex numbers needs.
struct FourierTurns {
  std::int64_t points = 0;
  std::vector<FourierStage> stages;
  // Cosines and sines of -2π·k/(2·points) for k up to points, if the points are real numbers in pairs.
  std::vector<float> half_turns;
};

// True if there are passes for so many points: larger prime factors cost more by their definition than libtorch's way.
bool hasRadices(std::int64_t points);

// `pairs`: the points are twice as many real numbers.
FourierTurns fourierTurns(std::int64_t points, bool pairs);

}  // namespace ipex_studio
