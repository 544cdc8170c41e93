// The code of a region as text, so that exports carry it. Private to optimize.cpp and its tests.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/lower/regions.h"

namespace ipex_studio {

// IR text as torch::jit::parseIR reads it: a graph without blocks whose inputs are the region's tensors, its integers,
// its constants and then `tensors`. Fused operators are written out, so that a kernel which cannot take the inputs is
// not asked again, except where that makes large constants. nullopt: the code has a constant that text cannot hold.
struct OriginalCodeText {
  std::string text;
  std::vector<at::Tensor> tensors;
};
std::optional<OriginalCodeText> writeOriginalCode(const RegionCode& code);

}  // namespace ipex_studio
