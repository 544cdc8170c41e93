// Finds the first node at which a model differs from another file that should be the same, and what was changed there.
#pragma once

#include <string>
#include <vector>

#include "core/record/bisect_record.h"
#include "core/verify/verify.h"

namespace ipex_studio {

struct TwoModels {
  torch::jit::Module original, other;
  AccuracyRule rule;
  std::string reset_method;
  std::vector<std::string> preserved;
  std::vector<Inputs> steps;  // calls in sequence; nodes are compared on the first
};

// Nodes are paired by module, kind, place in the source and structure, else by their values; regions of a compiled
// export are looked into. What is to blame is confirmed by putting the original's node in the place of the other's.
// Throws what running the original throws.
BisectRecord bisectFiles(const TwoModels& models);

}  // namespace ipex_studio
