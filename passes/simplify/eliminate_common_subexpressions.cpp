// Computes equal expressions once (libtorch's own pass, which knows about aliases and writes).
//   before  %a = relu(%x)   %b = relu(%x)   %c = add(%a, %b, 1)
//   after   %a = relu(%x)   %c = add(%a, %a, 1)
// Declines silently where an operand may be written or merging would make two outputs share memory.
// Runs after the canonicalizing passes, which make more expressions equal. Numerics: none changed.
#include <torch/csrc/jit/passes/common_subexpression_elimination.h>

#include "core/graph/pass.h"
#include "passes/pass_list.h"

namespace ipex_studio {

namespace {

bool eliminateCommonSubexpressions(torch::jit::Graph& graph, PassContext& context) {
  return runStockPass(graph, context, "computed equal expressions once",
                      [](std::shared_ptr<torch::jit::Graph>& view) { torch::jit::EliminateCommonSubexpression(view); });
}

}  // namespace

const Pass kEliminateCommonSubexpressions = {"eliminate-common-subexpressions", "Computes equal expressions once.",
                                             &eliminateCommonSubexpressions};

}  // namespace ipex_studio
