// Reads what is in a list where it came from.
//   before  %l = prim::ListConstruct(%a, %b)   %m = aten::add(%l, %n)
//           %c = aten::__getitem__(%l, 0)   %d, %e = prim::ListUnpack(%l)
//   after   %m = prim::ListConstruct(%a, %b, elements of %n)   %a, %a, %b
// Elements by a constant index, unpacked lists, lengths, copies, and sums of two lists. Of a list that is not made
// here, the pieces of a tensor, a sum is taken apart where it is unpacked: there it is known how many elements there
// are.
// Declines: nothing with a remark (a list that may be written to, an index that is not constant). Runs before
// fold-constants, which runs it again behind every branch it takes. Numerics: none.
#include <algorithm>
#include <optional>
#include <vector>

#include "core/graph/node_facts.h"
#include "core/graph/pass.h"
#include "passes/pass_list.h"

namespace ipex_studio {
namespace {

using torch::jit::Node;
using torch::jit::Value;

// True if nothing writes to the list, so that it keeps the entries that it was made of.
bool isFixedList(const Value* value, PassContext& context) {
  return isKind(value->node(), "prim::ListConstruct") && !context.mayBeWritten(value);
}

std::optional<std::size_t> elementIndex(const Node* node) {
  const auto count = static_cast<std::int64_t>(node->input(0)->node()->inputs().size());
  const auto index = constantInt(node->input(1));
  if (!index || *index < -count || *index >= count) return std::nullopt;
  return static_cast<std::size_t>(*index < 0 ? *index + count : *index);
}

bool isListSum(const Node* node) {
  return isKind(node, "aten::add") && node->inputs().size() == 2 &&
         node->output()->type()->kind() == c10::TypeKind::ListType;
}

Value* listOf(const std::vector<Value*>& elements, Node* before, Rewriter& rewriter) {
  Node* list = rewriter.create("prim::ListConstruct", elements, before);
  return list->output()->setType(before->output()->type());
}

// %a, %b, %c = ListUnpack(add([%p], %l)) as %b, %c = ListUnpack(%l), and the same with the known list behind.
bool unpackSum(Node* unpack, PassContext& context) {
  Node* const sum = unpack->input()->node();
  if (!isListSum(sum) || context.mayBeWritten(sum->output())) return false;
  const bool front = isFixedList(sum->input(0), context);
  if (!front && !isFixedList(sum->input(1), context)) return false;
  const auto known = sum->input(front ? 0 : 1)->node()->inputs();
  if (known.size() > unpack->outputs().size() || !context.rewriter.permit(unpack)) return false;
  const std::size_t others = unpack->outputs().size() - known.size();
  Node* const rest = context.rewriter.create("prim::ListUnpack", {sum->input(front ? 1 : 0)}, unpack, others);
  std::vector<Value*> to(rest->outputs().begin(), rest->outputs().end());
  for (std::size_t o = 0; o < others; ++o)
    rest->output(o)->setType(unpack->output(front ? known.size() + o : o)->type());
  to.insert(front ? to.begin() : to.end(), known.begin(), known.end());
  context.rewriter.replaceAll({sum, unpack}, unpack->outputs(), to, "unpacks both lists of a sum");
  return true;
}

// Values that the results of `node` equal; empty if it does not read a known list.
std::vector<Value*> valuesRead(Node* node, PassContext& context) {
  Value* const list = node->input(0);
  const auto elements = list->node()->inputs();
  if (isKind(node, "prim::ListUnpack"))
    return elements.size() == node->outputs().size() && context.rewriter.permit(node) ? elements.vec()
                                                                                      : std::vector<Value*>();
  if (isKind(node, "aten::__getitem__")) {
    const auto index = elementIndex(node);
    return index && context.rewriter.permit(node) ? std::vector<Value*>{elements[*index]} : std::vector<Value*>();
  }
  const bool sum = isListSum(node);
  if (!sum && !isKind(node, "aten::len") && !isKind(node, "aten::list")) return {};
  if ((sum && !isFixedList(node->input(1), context)) || !context.rewriter.permit(node)) return {};
  if (isKind(node, "aten::len")) return {context.rewriter.constant(static_cast<std::int64_t>(elements.size()), node)};
  std::vector<Value*> all = elements.vec();
  if (sum) all.insert(all.end(), node->input(1)->node()->inputs().begin(), node->input(1)->node()->inputs().end());
  return {listOf(all, node, context.rewriter)};
}

bool eliminateList(torch::jit::Graph& graph, PassContext& context) {
  bool changed = false;
  for (Node* node : context.nodes(kEliminateList.needs)) {
    if (!context.rewriter.alive(node) || node->inputs().empty()) continue;
    if (!isFixedList(node->input(0), context)) {
      changed |= isKind(node, "prim::ListUnpack") && unpackSum(node, context);
      continue;
    }
    const std::vector<Value*> values = valuesRead(node, context);
    if (values.empty()) continue;
    context.rewriter.replaceAll({node->input(0)->node(), node}, node->outputs(), values,
                                "reads the elements themselves");
    changed = true;
  }
  return changed;
}

}  // namespace

const Pass kEliminateList = {"eliminate-list",
                             "Reads what is in a list where it came from.",
                             &eliminateList,
                             {"aten::__getitem__", "aten::add", "aten::len", "aten::list", "prim::ListUnpack"}};

}  // namespace ipex_studio
