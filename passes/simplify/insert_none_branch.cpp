// Gives calls with the optional arguments of the example a graph of their own.
//   before  graph(%x, %mask : Tensor?):  %given = aten::__isnot__(%mask, None)   %y = prim::If(%given) …   return (%y)
//   after   %none = aten::__is__(%mask, None)   %y = prim::If(%none)
//             block0():  %given = aten::__isnot__(None, None)   …             which fold-constants decides
//             block1():  %given = aten::__isnot__(%mask, None)   …            as it was
// where the example left the mask out; where it gave one, block0 reads %m = prim::unchecked_cast(%mask), of the
// example's type. Scripted modules ask for their masks again and again, and every answer splits a region. Declines:
// nothing with a remark (an argument that no condition asks about). Runs first: both graphs go through all passes.
// Numerics: none.
#include <algorithm>

#include "core/graph/node_facts.h"
#include "passes/pass_list.h"
#include "passes/simplify/optional_argument.h"
#include "passes/simplify/whole_branch.h"

namespace ipex_studio {
namespace {

using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Use;
using torch::jit::Value;

bool asksForNone(const Use& use) { return isKind(use.user, "aten::__is__") || isKind(use.user, "aten::__isnot__"); }

std::vector<Value*> askedArguments(Graph& graph) {
  std::vector<Value*> arguments;
  for (Value* input : graph.inputs()) {
    const bool optional = input->type()->kind() == c10::TypeKind::OptionalType;
    if (optional && std::any_of(input->uses().begin(), input->uses().end(), &asksForNone)) arguments.push_back(input);
  }
  return arguments;
}

bool insertNoneBranch(Graph& graph, PassContext& context) {
  const std::vector<Value*> arguments = askedArguments(graph);
  if (arguments.empty() || isWholeBranch(graph) || !context.rewriter.permit()) return false;
  Node* const first = *graph.nodes().begin();
  Value* const none = context.rewriter.none(first);
  const auto make = [&](const char* kind, const std::vector<Value*>& inputs, const c10::TypePtr& type) {
    return context.rewriter.create(kind, inputs, first)->output()->setType(type);
  };
  Value* condition = nullptr;
  std::vector<Value*> as;
  std::vector<Node*> casts;
  for (Value* argument : arguments) {
    const c10::TypePtr type = givenType(argument);
    Value* alike = make(type ? "aten::__isnot__" : "aten::__is__", {argument, none}, c10::BoolType::get());
    condition = condition == nullptr ? alike : make("aten::__and__", {condition, alike}, c10::BoolType::get());
    as.push_back(type ? make("prim::unchecked_cast", {argument}, type) : none);
    if (type) casts.push_back(as.back()->node());
  }
  context.rewriter.branch(condition, arguments, as, "a graph for calls with the example's optional arguments");
  // An argument is a tensor only where it was asked for.
  Node* const inside = *graph.outputs()[0]->node()->blocks()[0]->nodes().begin();
  for (Node* cast : casts) cast->moveBefore(inside);
  return true;
}

}  // namespace

const Pass kInsertNoneBranch = {"insert-none-branch",
                                "Gives calls with the example's optional arguments a graph of their own.",
                                &insertNoneBranch,
                                {"aten::__is__", "aten::__isnot__"}};

}  // namespace ipex_studio
