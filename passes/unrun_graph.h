// The graph of a model that has not run, for those who do not know yet what to run it with.
#pragma once

#include <string>
#include <vector>

#include "core/model/model.h"
#include "core/record/source_record.h"

namespace ipex_studio {

struct UnrunGraph {
  GraphSnapshot frozen;  // before any pass; of its values no sizes are known
  std::vector<Origin> origins;
  SourceRecord source;
  int nodes = 0;  // of the graph, without constants
};

// Throws c10::Error where the module cannot be frozen. `preserved`: as in OptimizeOptions; `python`: as in
// modelSource().
UnrunGraph unrunGraph(const torch::jit::Module& module, const std::vector<std::string>& preserved, bool python = true);

}  // namespace ipex_studio
