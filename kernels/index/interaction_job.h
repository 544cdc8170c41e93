// Products of pairs of features: sizes, places of the results and of the features, shared by the kernels of both
// directions and their plain versions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/op/kernel.h"

namespace ipex_studio {

// Places behind those of a sample's features, for tiles that reach beyond the last: as many as a tile of any
// instruction set has rows.
constexpr std::int64_t kFeaturesBehind = 64;

struct InteractionJob {
  // The beginning of a feature in the operands of sample 0, and its distance to that of the next sample.
  struct Feature {
    std::size_t source = 0;
    std::int64_t offset = 0, stride = 0;  // elements
  };

  std::vector<Feature> features;
  std::int64_t width = 0;
  bool diagonal = false;
  std::int64_t dense = 0;            // values of feature 0 in front of the products
  std::int64_t result_width = 0;     // of a sample
  std::vector<std::int32_t> places;  // where a sample's result has the product of features i and j, j <= i, at i·n + j

  std::int64_t featureCount() const { return static_cast<std::int64_t>(features.size()); }

  std::int64_t place(std::int64_t i, std::int64_t j) const {
    return places[static_cast<std::size_t>(i * featureCount() + j)];
  }
};

// Describes operands from `first` on, all row-major [B,D] or [B,K,D].
InteractionJob interactionJob(const OpSpec& spec, const std::vector<Dims>& src, std::size_t first);

// The same for a kernel in FP32, whose layouts, all row-major, it stores in `op`.
InteractionJob interactionJob(const PrepareArgs& args, std::size_t first, PreparedOp* op);

}  // namespace ipex_studio
