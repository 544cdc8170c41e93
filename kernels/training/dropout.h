// Dropout by a counter: what becomes of an element depends on the seed and its place alone, so that a gradient needs no
// mask in memory, and results do not depend on threads or instructions.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/common/bf16.h"

namespace ipex_studio {

struct DropoutJob {
  std::uint64_t seed = 0;
  double p = 0;  // share that is dropped, 0 … 1
  std::int64_t count = 0;
  std::int32_t threads = 1;
  std::string isa;  // a machine_facts tier that instructions stay within; empty: what this machine has
};

// y = x / (1 - p) for elements that are kept, x · 0 for others; y may be x. Element i is kept if word i % 4 of Philox
// (philox.h) with the seed as key and i / 4 as counter is at least p · 2³². The gradient is the same of dy.
void dropElements(const DropoutJob& job, const float* x, float* y);
void dropElements(const DropoutJob& job, const Bf16* x, Bf16* y);

}  // namespace ipex_studio
