// Runs the example once more where loops were written out, to see the sizes that values have in each round.
//   before  %y : Float(1, 8, *, *) = aten::conv2d(%x …)    in the place of each round
//   after   %y : Float(1, 8, 32, 32) = aten::conv2d(%x …)
// A value in the body of a loop has one type for all rounds, so that only the rank and dtype of levels of features are
// known there. Afterwards canonicalize-sizes writes out lists of sizes whose length is known now, eliminate-list
// reads them, and fold-constants answers what these sizes decide.
// Declines: nothing with a remark (no example). Runs after fold-constants. Numerics: none.
#include <algorithm>

#include "core/graph/fused_op.h"
#include "core/graph/pass.h"
#include "passes/pass_list.h"

namespace ipex_studio {
namespace {

using torch::jit::Block;
using torch::jit::Node;
using torch::jit::Value;

// True for a tensor of known rank whose sizes differed between the rounds that its node ran in.
bool differedBetweenRounds(const Value* value) {
  const auto* type = value->type()->castRaw<c10::TensorType>();
  return type != nullptr && type->dim() && !type->sizes().concrete_sizes();
}

// True if such a value is in no loop any more.
bool isWrittenOut(Block* block) {
  return std::any_of(block->nodes().begin(), block->nodes().end(), [](Node* node) {
    if (node->kind() == c10::prim::Loop) return false;
    const auto outputs = node->outputs();
    const auto blocks = node->blocks();
    return std::any_of(outputs.begin(), outputs.end(), differedBetweenRounds) ||
           std::any_of(blocks.begin(), blocks.end(), isWrittenOut);
  });
}

bool recordShapesAgain(torch::jit::Graph& graph, PassContext& context) {
  if (!context.record_shapes || !isWrittenOut(graph.block())) return false;
  context.record_shapes();
  bool changed = false;
  for (const Pass* pass : {&kCanonicalizeSizes, &kEliminateList, &kFoldConstants}) {
    if (!isDisabled(context.options, pass->name)) changed |= pass->run(graph, context);
  }
  return changed;
}

}  // namespace

const Pass kRecordShapes = {
    "record-shapes", "Sees sizes once more where loops were written out.", &recordShapesAgain, {}};

}  // namespace ipex_studio
