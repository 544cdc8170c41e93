// Reads the elements of a tuple where they came from.
//   before  %t = prim::TupleConstruct(%a, %b)   %c = prim::TupleIndex(%t, 1)   %d, %e = prim::TupleUnpack(%t)
//   after   %b, %a, %b
// Nothing reads a module's secondary results, such as the weights of attention, after this. Declines: nothing
// with a remark (an index that is not constant). Runs before fold-constants, which runs it again behind every branch it
// takes. Numerics: none.
#include "core/graph/node_facts.h"
#include "core/graph/rewrite_matches.h"
#include "passes/pass_list.h"

namespace ipex_studio {
namespace {

using torch::jit::Node;
using torch::jit::Value;

// The elements that the node reads of a tuple made in sight; nullopt: it does not, or not known which.
std::optional<std::vector<Value*>> matchElements(PassContext&, const Node* node, Decline*) {
  Node* tuple = node->input(0)->node();
  const auto elements = tuple->inputs();
  if (!isKind(tuple, "prim::TupleConstruct") || elements.empty()) return std::nullopt;
  if (isKind(node, "prim::TupleUnpack"))
    return elements.size() == node->outputs().size() ? std::make_optional(elements.vec()) : std::nullopt;
  const auto count = static_cast<std::int64_t>(elements.size());
  const auto index = constantInt(node->input(1));
  if (!index || *index < -count || *index >= count) return std::nullopt;
  return std::vector<Value*>{elements[static_cast<std::size_t>(*index < 0 ? *index + count : *index)]};
}

void rewriteElements(Rewriter& rewriter, Node* node, const std::vector<Value*>& elements) {
  rewriter.replaceAll({node->input(0)->node(), node}, node->outputs(), elements, "reads the element itself");
}

bool eliminateTuple(torch::jit::Graph& graph, PassContext& context) {
  return rewriteMatches(context, context.nodes(kEliminateTuple.needs), matchElements, rewriteElements);
}

}  // namespace

const Pass kEliminateTuple = {"eliminate-tuple",
                              "Reads the elements of a tuple where they came from.",
                              &eliminateTuple,
                              {"prim::TupleIndex", "prim::TupleUnpack"}};

}  // namespace ipex_studio
