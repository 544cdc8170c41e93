// Gives calls without the optional arguments that the example left out a graph of their own.
//   before  graph(%x, %mask : Tensor?):  %given = aten::__isnot__(%mask, None)   %y = prim::If(%given) …   return (%y)
//   after   %none = aten::__is__(%mask, None)   %y = prim::If(%none)
//             block0():  %given = aten::__isnot__(None, None)   …             which fold-constants decides
//             block1():  %given = aten::__isnot__(%mask, None)   …            as it was
// Scripted modules ask for their masks again and again, and every answer splits a region. Declines: nothing with a
// remark (an argument that was given, or that no condition asks about). Runs first: both graphs go through all passes.
// Numerics: none.
#include <algorithm>

#include "core/graph/node_facts.h"
#include "passes/pass_list.h"
#include "passes/simplify/whole_branch.h"

namespace ipex_studio {
namespace {

using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Use;
using torch::jit::Value;

bool asksForNone(const Use& use) { return isKind(use.user, "aten::__is__") || isKind(use.user, "aten::__isnot__"); }

// True if the example run gave the argument; the type of its cast was recorded then.
bool wasGiven(const Value* argument) {
  const auto& uses = argument->uses();
  return std::any_of(uses.begin(), uses.end(), [](const Use& use) {
    return isKind(use.user, "prim::unchecked_cast") && knownDtype(use.user->output()).has_value();
  });
}

std::vector<Value*> leftOut(Graph& graph) {
  std::vector<Value*> arguments;
  for (Value* input : graph.inputs()) {
    if (input->type()->kind() != c10::TypeKind::OptionalType) continue;
    const bool asked = std::any_of(input->uses().begin(), input->uses().end(), &asksForNone);
    if (asked && !wasGiven(input)) arguments.push_back(input);
  }
  return arguments;
}

bool insertNoneBranch(Graph& graph, PassContext& context) {
  const std::vector<Value*> arguments = leftOut(graph);
  if (arguments.empty() || isWholeBranch(graph) || !context.rewriter.permit()) return false;
  Node* const first = *graph.nodes().begin();
  Value* const none = context.rewriter.none(first);
  Value* condition = nullptr;
  const auto make = [&](const char* kind, const std::vector<Value*>& inputs) {
    return context.rewriter.create(kind, inputs, first)->output()->setType(c10::BoolType::get());
  };
  for (Value* argument : arguments) {
    Value* absent = make("aten::__is__", {argument, none});
    condition = condition == nullptr ? absent : make("aten::__and__", {condition, absent});
  }
  context.rewriter.branch(condition, arguments, std::vector<Value*>(arguments.size(), none),
                          "a graph for calls without optional arguments");
  return true;
}

}  // namespace

const Pass kInsertNoneBranch = {"insert-none-branch",
                                "Gives calls without optional arguments a graph of their own.",
                                &insertNoneBranch,
                                {"aten::__is__", "aten::__isnot__"}};

}  // namespace ipex_studio
