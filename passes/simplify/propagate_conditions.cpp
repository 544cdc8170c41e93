// Takes a condition for known in its own branches, and a result that only repeats the condition for the condition.
//   before  %same = aten::__is__(%q, %k)   %y, %b = prim::If(%same)
//             block0(): %z = prim::If(%same) …   -> (…, true)
//             block1(): %o = aten::__isnot__(%q, %k)   %z = prim::If(%o) …   -> (…, false)
//   after   the same, where the inner conditions are true, and all that read %b read %same
// Scripted attention asks in every function that it calls whether its queries are its keys; each question that stays
// cuts a region in two. A result that is false and true becomes aten::__not__ of the condition.
// Declines: nothing with a remark. Runs before fold-constants, which runs it again behind every branch it takes.
// Numerics: none.
#include <optional>
#include <vector>

#include "core/graph/node_facts.h"
#include "core/graph/pass.h"
#include "passes/pass_list.h"

namespace ipex_studio {
namespace {

using torch::jit::Block;
using torch::jit::Node;
using torch::jit::Value;

bool isIdentityQuestion(const Node* node) { return isKind(node, "aten::__is__") || isKind(node, "aten::__isnot__"); }

// True if both ask about the same two values.
bool askAlike(const Node* a, const Node* b) {
  return (a->input(0) == b->input(0) && a->input(1) == b->input(1)) ||
         (a->input(0) == b->input(1) && a->input(1) == b->input(0));
}

// An operand inside of a branch that is the condition or a question like it, and its value there.
struct Known {
  Node* user = nullptr;
  std::size_t input = 0;
  bool holds = false;
};

void collect(const Value* value, bool turned, const Node* branch, std::vector<Known>* known) {
  for (const torch::jit::Use& use : value->uses()) {
    if (use.user->kind() == c10::prim::Return) continue;
    for (std::size_t b = 0; b < 2; ++b) {
      if (isInside(use.user, branch->blocks()[b])) known->push_back({use.user, use.offset, (b == 0) != turned});
    }
  }
}

bool decideInside(Node* node, PassContext& context) {
  std::vector<Known> known;
  const Value* condition = node->input(0);
  collect(condition, false, node, &known);
  if (isIdentityQuestion(condition->node())) {
    for (const torch::jit::Use& use : condition->node()->input(0)->uses()) {
      const Node* other = use.user;
      if (other == condition->node() || !isIdentityQuestion(other) || !askAlike(other, condition->node())) continue;
      collect(other->output(), other->kind() != condition->node()->kind(), node, &known);
    }
  }
  bool changed = false;
  for (const Known& reader : known) {
    if (!context.rewriter.permit(reader.user)) continue;
    Value* answer = context.rewriter.constant(reader.holds, reader.user);
    context.rewriter.replaceInput(reader.user, reader.input, answer);
    context.rewriter.finish(reader.user, "a condition that its own branch decides");
    changed = true;
  }
  return changed;
}

// How a result repeats the condition: true if as it is, false if turned; nullopt: it does not, or leaves the block.
std::optional<bool> repeats(const Node* node, std::size_t result) {
  for (const torch::jit::Use& use : node->output(result)->uses()) {
    if (use.user->kind() == c10::prim::Return) return std::nullopt;
  }
  const auto yes = constantBool(node->blocks()[0]->outputs()[result]),
             no = constantBool(node->blocks()[1]->outputs()[result]);
  return yes && no && *yes != *no ? yes : std::nullopt;
}

bool readCondition(Node* node, PassContext& context) {
  bool changed = false;
  for (std::size_t result = 0; result < node->outputs().size(); ++result) {
    const auto plain = repeats(node, result);
    if (!plain || !node->output(result)->hasUses() || !context.rewriter.permit(node)) continue;
    Value* condition = node->input(0);
    if (!*plain) {
      condition = context.rewriter.create("aten::__not__", {condition}, node)->output();
      condition->setType(c10::BoolType::get());
    }
    context.rewriter.replaceAll({}, {node->output(result)}, {condition}, "a result that repeats the condition");
    if (!*plain) context.rewriter.origins().set(condition, context.rewriter.origins().of(node->input(0)->node()));
    changed = true;
  }
  return changed;
}

bool propagateConditions(torch::jit::Graph&, PassContext& context) {
  bool changed = false;
  for (Node* node : context.nodes(kPropagateConditions.needs)) {
    if (!context.rewriter.alive(node) || node->blocks().size() != 2) continue;
    changed |= readCondition(node, context);
    if (!constantBool(node->input(0))) changed |= decideInside(node, context);
  }
  return changed;
}

}  // namespace

const Pass kPropagateConditions = {
    "propagate-conditions", "Takes a condition for known in its own branches.", &propagateConditions, {"prim::If"}};

}  // namespace ipex_studio
