// Reads what is in a list where it came from.
//   before  %l = prim::ListConstruct(%a, %b)   %m = aten::add(%l, %n)
//           %c = aten::__getitem__(%l, 0)   %d, %e = prim::ListUnpack(%l)
//   after   %m = prim::ListConstruct(%a, %b, elements of %n)   %a, %a, %b
// Elements by a constant index, unpacked lists, lengths, copies, slices by constants, and sums of two lists, of which
// one may be constant. Of a list that is not made here, the pieces of a tensor, a sum is taken apart where it is
// unpacked: there it is known how many elements there are.
// Declines: nothing with a remark (a list that may be written to, an index that is not constant). Runs before
// fold-constants, which runs it again behind every branch it takes and behind itself. Numerics: none.
#include <optional>
#include <vector>

#include "core/graph/fused_op.h"
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

bool isListSum(const Node* node) {
  return isKind(node, "aten::add") && node->inputs().size() == 2 &&
         node->output()->type()->kind() == c10::TypeKind::ListType;
}

// True for such a list, and for constant ones of numbers.
bool isKnownList(const Value* value, PassContext& context) {
  constexpr std::size_t kMaxElements = 64;
  if (isFixedList(value, context)) return true;
  const auto constant = torch::jit::toIValue(value);
  return constant && constant->isIntList() && constant->toIntVector().size() <= kMaxElements;
}

// The elements of a known list; those of a constant one are made in front of `before`.
std::vector<Value*> elementsOf(const Value* list, Node* before, Rewriter& rewriter) {
  if (isKind(list->node(), "prim::ListConstruct")) {
    const auto made = const_cast<Value*>(list)->node()->inputs();
    return {made.begin(), made.end()};
  }
  std::vector<Value*> elements;
  for (const std::int64_t number : torch::jit::toIValue(list)->toIntVector())
    elements.push_back(rewriter.constant(number, before));
  return elements;
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
    const auto index = constantIndex(node->input(1), elements.size());
    return index && context.rewriter.permit(node) ? std::vector<Value*>{elements[*index]} : std::vector<Value*>();
  }
  if (isKind(node, "aten::slice")) {
    const auto slice = constantSlice(node, elements.size());
    if (!slice || !context.rewriter.permit(node)) return {};
    std::vector<Value*> left;
    for (std::int64_t at = slice->begin; at < slice->end; at += slice->step)
      left.push_back(elements[static_cast<std::size_t>(at)]);
    return {listOf(left, node, context.rewriter)};
  }
  if ((!isKind(node, "aten::len") && !isKind(node, "aten::list")) || !context.rewriter.permit(node)) return {};
  if (isKind(node, "aten::len")) return {context.rewriter.constant(static_cast<std::int64_t>(elements.size()), node)};
  return {listOf(elements.vec(), node, context.rewriter)};
}

// One list of the elements of both; null if one of them is not known, or both are constant.
Value* joinedLists(Node* sum, PassContext& context) {
  const bool made = isFixedList(sum->input(0), context) || isFixedList(sum->input(1), context);
  if (!made || !isKnownList(sum->input(0), context) || !isKnownList(sum->input(1), context)) return nullptr;
  if (!context.rewriter.permit(sum)) return nullptr;
  std::vector<Value*> all = elementsOf(sum->input(0), sum, context.rewriter);
  const std::vector<Value*> second = elementsOf(sum->input(1), sum, context.rewriter);
  all.insert(all.end(), second.begin(), second.end());
  return listOf(all, sum, context.rewriter);
}

bool eliminateList(torch::jit::Graph& graph, PassContext& context) {
  bool changed = false;
  for (Node* node : context.nodes(kEliminateList.needs)) {
    if (!context.rewriter.alive(node) || node->inputs().empty()) continue;
    if (isListSum(node)) {
      Value* const joined = joinedLists(node, context);
      if (joined == nullptr) continue;
      context.rewriter.replaceAll({node->input(0)->node(), node}, node->outputs(), {joined},
                                  "lists the elements of both");
      changed = true;
      continue;
    }
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

const Pass kEliminateList = {
    "eliminate-list",
    "Reads what is in a list where it came from.",
    &eliminateList,
    {"aten::__getitem__", "aten::add", "aten::len", "aten::list", "aten::slice", "prim::ListUnpack"}};

}  // namespace ipex_studio
