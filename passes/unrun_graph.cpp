// See unrun_graph.h.
#include "passes/unrun_graph.h"

#include "core/pipeline/pipeline.h"

namespace ipex_studio {

UnrunGraph unrunGraph(const torch::jit::Module& module, const std::vector<std::string>& preserved) {
  const auto graph = freezeForPasses(module, preserved).get_method("forward").graph();
  OriginTable origins;
  origins.assign(*graph);
  return {makeSnapshot(*graph, origins, 0, "frozen"), origins.origins(), countNodes(*graph)};
}

}  // namespace ipex_studio
