// Greedy non-maximum suppression of boxes, as torchvision.ops.nms has it.
//
// Boxes go by descending scores, equal ones in their order and NaN before all numbers. A box falls if its intersection
// over union with a box that stays is greater than the threshold; one that is NaN (0/0) is not.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ipex_studio {

struct NmsJob {
  std::int64_t count = 0;  // of boxes
  double threshold = 0;
  std::string isa;  // tier of instruction sets (core/runtime/machine_facts.h)
  std::int32_t threads = 1;
};

// boxes[count][x1, y1, x2, y2], scores[count]. Returns the places of the boxes that stay, by descending score. T:
// float, double. The result is that of nmsRef() for any number of threads.
template <typename T>
std::vector<std::int64_t> nms(const NmsJob& job, const T* boxes, const T* scores);

// The plain version.
template <typename T>
std::vector<std::int64_t> nmsRef(const NmsJob& job, const T* boxes, const T* scores);

}  // namespace ipex_studio
