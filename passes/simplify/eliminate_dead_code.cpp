// Removes nodes whose results nothing uses and that have no side effects (libtorch's own pass).
//   before  %a = relu(%x)   %b = tanh(%x)   return (%b)
//   after   %b = tanh(%x)   return (%b)
// Runs last. Numerics: none changed.
#include <torch/csrc/jit/passes/dead_code_elimination.h>

#include "core/graph/pass.h"
#include "passes/pass_list.h"

namespace ipex_studio {

namespace {

bool eliminateDeadCode(torch::jit::Graph& graph, PassContext& context) {
  return runStockPass(graph, context, "removed what nothing uses",
                      [](std::shared_ptr<torch::jit::Graph>& view) { torch::jit::EliminateDeadCode(view->block()); });
}

}  // namespace

const Pass kEliminateDeadCode = {"eliminate-dead-code", "Removes nodes whose results nothing uses.",
                                 &eliminateDeadCode};

}  // namespace ipex_studio
