// Computes equal expressions once (libtorch's own pass, which knows about aliases and writes).
//   before  %a = relu(%x)   %b = relu(%x)   %c = add(%a, %b, 1)
//   after   %a = relu(%x)   %c = add(%a, %a, 1)
// Declines silently where an operand may be written or merging would make two outputs share memory, and does nothing in
// graphs with operators that libtorch takes for functions of their operands: some that draw numbers or write silently.
// Runs after the canonicalizing passes, which make more expressions equal. Numerics: none changed.
#include <torch/csrc/jit/passes/common_subexpression_elimination.h>

#include "core/graph/pass.h"
#include "core/graph/random_nodes.h"
#include "core/torch/silent_writes.h"
#include "passes/pass_list.h"

namespace ipex_studio {

namespace {

bool isNoFunction(const torch::jit::Node* node) {
  return (drawsRandomNumbers(node) && !node->isNondeterministic()) || !silentlyWritten(node).empty();
}

bool eliminateCommonSubexpressions(torch::jit::Graph& graph, PassContext& context) {
  for (const torch::jit::Node* node : context.graph_index().all()) {
    if (isNoFunction(node)) return false;
  }
  return runStockPass(graph, context, "computed equal expressions once",
                      [](std::shared_ptr<torch::jit::Graph>& view) { torch::jit::EliminateCommonSubexpression(view); });
}

}  // namespace

const Pass kEliminateCommonSubexpressions = {"eliminate-common-subexpressions", "Computes equal expressions once.",
                                             &eliminateCommonSubexpressions};

}  // namespace ipex_studio
