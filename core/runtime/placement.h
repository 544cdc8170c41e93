// placeOnHost: which steps are better computed on the host than on the device that was asked for, since copies count.
#pragma once

#include <cstdint>
#include <vector>

namespace ipex_studio {

// Steps of a plan, the values that they hand to each other, and the time of copying those.
struct PlacementProblem {
  struct Step {
    bool on_device = true;  // false: the device has no kernel for it
    double host_ns = 0;     // expected time on the host
  };
  struct Value {
    std::int32_t maker = -1;            // step; -1: the host has it from the beginning
    std::vector<std::int32_t> readers;  // steps; -1: the host wants it in the end
    double copy_ns = 0;                 // to the other side
  };
  std::vector<Step> steps;
  std::vector<Value> values;
};

// Returns per step whether the host should compute it. All that the device can compute stays there, but for steps that
// the host computes in less time than copies take that it saves: the device was asked for, and its own times are not
// known. Nothing is moved if the device has kernels for all steps, or would be left without any.
std::vector<bool> placeOnHost(const PlacementProblem& problem);

}  // namespace ipex_studio
