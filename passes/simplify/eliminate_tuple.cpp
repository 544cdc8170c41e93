// Reads the elements of a tuple where they came from.
//   before  %t = prim::TupleConstruct(%a, %b)   %c = prim::TupleIndex(%t, 1)   %d, %e = prim::TupleUnpack(%t)
//   after   %b, %a, %b                     of a constant tuple: constants
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

// Which elements of a tuple of `count` the node reads; nullopt: not known.
std::optional<std::vector<std::size_t>> readElements(const Node* node, std::size_t count) {
  std::vector<std::size_t> places;
  if (isKind(node, "prim::TupleUnpack")) {
    if (count != node->outputs().size()) return std::nullopt;
    for (std::size_t place = 0; place < count; ++place) places.push_back(place);
    return places;
  }
  const auto length = static_cast<std::int64_t>(count);
  const auto index = constantInt(node->input(1));
  if (!index || *index < -length || *index >= length) return std::nullopt;
  places.push_back(static_cast<std::size_t>(*index < 0 ? *index + length : *index));
  return places;
}

// The elements that the node reads of a tuple, made in sight or constant.
struct Elements {
  std::vector<Value*> made;
  std::vector<c10::IValue> constant;
};

std::optional<Elements> matchElements(PassContext&, const Node* node, Decline*) {
  const Node* tuple = node->input(0)->node();
  const auto constant = torch::jit::toIValue(node->input(0));
  const bool is_constant = constant && constant->isTuple();
  if (!is_constant && !isKind(tuple, "prim::TupleConstruct")) return std::nullopt;
  const std::size_t count = is_constant ? constant->toTupleRef().elements().size() : tuple->inputs().size();
  const auto places = readElements(node, count);
  if (!places || places->empty()) return std::nullopt;
  Elements elements;
  for (const std::size_t place : *places) {
    if (is_constant) {
      elements.constant.push_back(constant->toTupleRef().elements()[place]);
    } else {
      elements.made.push_back(const_cast<Value*>(tuple->input(place)));
    }
  }
  return elements;
}

void rewriteElements(Rewriter& rewriter, Node* node, const Elements& elements) {
  std::vector<Value*> to = elements.made;
  for (const c10::IValue& element : elements.constant) to.push_back(rewriter.constant(element, node));
  std::vector<Node*> from{node};
  if (elements.constant.empty()) from.insert(from.begin(), node->input(0)->node());
  rewriter.replaceAll(from, node->outputs(), to, "reads the element itself");
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
