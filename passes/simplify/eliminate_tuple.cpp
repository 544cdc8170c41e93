// Reads the elements of a tuple where they came from.
//   before  %t = prim::TupleConstruct(%a, %b)   %c = prim::TupleIndex(%t, 1)   %d, %e = prim::TupleUnpack(%t)
//   after   %b, %a, %b
// Nothing reads a module's secondary results, such as the weights of attention, after this. Declines: nothing
// with a remark (an index that is not constant). Runs before fold-constants, which runs it again behind every branch it
// takes. Numerics: none.
#include "core/graph/node_facts.h"
#include "passes/pass_list.h"

namespace ipex_studio {
namespace {

using torch::jit::Node;
using torch::jit::Value;

// The elements that the node reads of a tuple made in sight; empty: it does not, or not known which.
std::vector<Value*> elementsRead(const Node* node) {
  Node* tuple = node->input(0)->node();
  if (!isKind(tuple, "prim::TupleConstruct")) return {};
  const auto elements = tuple->inputs();
  if (isKind(node, "prim::TupleUnpack"))
    return elements.size() == node->outputs().size() ? elements.vec() : std::vector<Value*>();
  const auto count = static_cast<std::int64_t>(elements.size());
  const auto index = constantInt(node->input(1));
  if (!index || *index < -count || *index >= count) return {};
  return {elements[static_cast<std::size_t>(*index < 0 ? *index + count : *index)]};
}

bool eliminateTuple(torch::jit::Graph& graph, PassContext& context) {
  bool changed = false;
  for (Node* node : context.nodes(kEliminateTuple.needs)) {
    if (!context.rewriter.alive(node)) continue;
    const std::vector<Value*> elements = elementsRead(node);
    if (elements.empty()) continue;
    if (!context.rewriter.permit()) break;
    context.rewriter.replaceAll({node->input(0)->node(), node}, node->outputs(), elements, "reads the element itself");
    changed = true;
  }
  return changed;
}

}  // namespace

const Pass kEliminateTuple = {"eliminate-tuple",
                              "Reads the elements of a tuple where they came from.",
                              &eliminateTuple,
                              {"prim::TupleIndex", "prim::TupleUnpack"}};

}  // namespace ipex_studio
