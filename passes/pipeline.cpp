// The order in which passes run, with the reason for each place.
#include "passes/pipeline.h"

#include "passes/pass_list.h"

namespace ipex_studio {

const std::vector<const Pass*>& defaultPasses() {
  static const std::vector<const Pass*> passes = {
      // First of all: in eval mode dropout hands its input through, which no alias analysis knows.
      &kEliminateDropout,
      // Parallel branches of one source are one node before anything is fused into either.
      &kEliminateCommonSubexpressions,
      // Last: what lost its users on the way.
      &kEliminateDeadCode,
  };
  return passes;
}

}  // namespace ipex_studio
