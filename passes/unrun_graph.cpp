// See unrun_graph.h.
#include "passes/unrun_graph.h"

#include "core/pipeline/pipeline.h"
#include "passes/model_source.h"

namespace ipex_studio {

UnrunGraph unrunGraph(const torch::jit::Module& module, const std::vector<std::string>& preserved, bool python) {
  const torch::jit::Module frozen = freezeForPasses(module, preserved);
  const auto graph = frozen.get_method("forward").graph();
  OriginTable origins;
  origins.assign(*graph);
  return {makeSnapshot(*graph, origins, 0, "frozen"), origins.origins(), modelSource(frozen, python),
          countNodes(*graph)};
}

}  // namespace ipex_studio
