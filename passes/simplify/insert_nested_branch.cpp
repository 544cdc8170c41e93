// Gives batches whose paddings stand at the end, and all others, a graph each.
//   before  %a = aten::_nested_tensor_from_mask_left_aligned(%x, %kept)   %n, %mask = prim::If(%a) …   return (%y)
//   after   %a = …   %y = prim::If(%a)
//             block0():  %n, %mask = prim::If(true) …      which packs the batch into a nested tensor
//             block1():  %n, %mask = prim::If(false) …     which masks the paddings
// A scripted nn.TransformerEncoder packs the first and masks the second, and every layer asks again what it was given.
// Where the question is asked only under a condition – an optional mask is given –, that one comes first.
// Declines: nothing with a remark (a question in a loop, a large graph). Runs after fold-constants, which brings the
// question out of branches, and has it decide the branches of both forms. Numerics: none.
#include <algorithm>
#include <vector>

#include "core/graph/node_facts.h"
#include "core/graph/pass.h"
#include "core/pipeline/pipeline.h"
#include "passes/pass_list.h"
#include "passes/simplify/optional_argument.h"

namespace ipex_studio {
namespace {

using torch::jit::Block;
using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Use;
using torch::jit::Value;

constexpr int kMaxNodes = 4000, kMaxSplits = 4;

// A value that decides which form the nodes of `block` behind it take.
struct Split {
  Block* block = nullptr;  // nullptr: none
  Value* answer = nullptr;
};

// True for a condition whose results are those of its block, and those of all blocks around it.
bool choosesForm(const Node* node);

bool isForm(const Block* block) {
  const Node* owner = block->owningNode();
  return owner == nullptr || (isKind(owner, "prim::If") && choosesForm(owner));
}

bool choosesForm(const Node* node) {
  const auto results = node->owningBlock()->outputs();
  return isKind(node, "prim::If") && !results.empty() && results.size() == node->outputs().size() &&
         std::equal(results.begin(), results.end(), node->outputs().begin()) && isForm(node->owningBlock());
}

bool onlyChoosesForm(const Value* answer) {
  return std::all_of(answer->uses().begin(), answer->uses().end(),
                     [](const Use& use) { return choosesForm(use.user); });
}

// By the answer to the question where it stands in a form of the graph; else by the condition that asks it at all.
Split splitBy(Node* question) {
  if (isForm(question->owningBlock()))
    return onlyChoosesForm(question->output()) ? Split() : Split{question->owningBlock(), question->output()};
  Node* asks = question->owningBlock()->owningNode();
  while (!isForm(asks->owningBlock())) asks = asks->owningBlock()->owningNode();
  return isKind(asks, "prim::If") ? Split{asks->owningBlock(), asks->input(0)} : Split();
}

// The optional value of which `answer` says that it is given; nullptr: another question.
Value* saidToBeGiven(const Value* answer) {
  const Node* node = answer->node();
  const bool asks = isKind(node, "aten::__isnot__") && isNone(node->input(1)) &&
                    node->input(0)->type()->kind() == c10::TypeKind::OptionalType;
  return asks ? node->input(0) : nullptr;
}

// The optional value as a tensor, typed as the example run saw it.
Value* asGiven(Rewriter& rewriter, Value* optional, Node* before) {
  Value* made = rewriter.create("prim::unchecked_cast", {optional}, before)->output();
  const c10::TypePtr type = givenType(optional);
  return made->setType(type ? type : c10::TensorType::get());
}

bool isInBranch(const Node* node, const Node* branch) {
  return std::any_of(branch->blocks().begin(), branch->blocks().end(),
                     [&](const torch::jit::Block* block) { return isInside(node, block); });
}

// Replaces the value in the blocks of the branch.
template <typename Make>
void replaceInside(Rewriter& rewriter, const Node* branch, const Value* value, const Make& make) {
  const std::vector<Use> uses = value->uses();
  for (const Use& use : uses) {
    if (!isInBranch(use.user, branch) || !rewriter.permit(use.user)) continue;
    rewriter.replaceInput(use.user, use.offset, make(use.user));
    rewriter.finish(use.user, "not so in this form");
  }
}

void makeForms(Rewriter& rewriter, const Split& split) {
  Node* const first = *split.block->nodes().begin();
  const bool here = split.answer->node()->owningBlock() == split.block;
  Node* const last = here && split.answer->node() != split.block->param_node() ? split.answer->node() : nullptr;
  Node* const before = last != nullptr ? last->next() : first;
  std::vector<Value*> known{split.answer}, as{rewriter.constant(true, before)};
  if (Value* optional = saidToBeGiven(split.answer)) {
    known.push_back(optional);
    as.push_back(asGiven(rewriter, optional, before));
  }
  rewriter.branch(split.answer, known, as, "a graph for batches padded at the end", last, split.block);
  const Node* const branch = split.block->outputs()[0]->node();
  replaceInside(rewriter, branch, split.answer, [&](Node* at) { return rewriter.constant(false, at); });
  if (known.size() > 1) replaceInside(rewriter, branch, known[1], [&](Node* at) { return rewriter.none(at); });
}

bool splitOnce(Graph& graph, PassContext& context) {
  for (Node* question : context.nodes(kInsertNestedBranch.needs)) {
    const Split split = splitBy(question);
    if (split.block == nullptr || split.block->outputs().empty()) continue;
    if (countNodes(graph) > kMaxNodes || !context.rewriter.permit(question)) return false;
    makeForms(context.rewriter, split);
    return true;
  }
  return false;
}

// Casts of what is given hide facts that decide further branches.
void decideBranches(Graph& graph, PassContext& context) {
  for (const Pass* pass :
       {&kFoldTensorFacts, &kFoldConstants, &kEliminateIdentity, &kFoldTensorFacts, &kFoldConstants}) {
    if (!isDisabled(context.options, pass->name)) pass->run(graph, context);
  }
}

bool insertNestedBranch(Graph& graph, PassContext& context) {
  bool changed = false;
  for (int split = 0; split < kMaxSplits && splitOnce(graph, context); ++split) {
    decideBranches(graph, context);
    changed = true;
  }
  return changed;
}

}  // namespace

const Pass kInsertNestedBranch = {"insert-nested-branch",
                                  "Gives batches whose paddings stand at the end a graph of their own.",
                                  &insertNestedBranch,
                                  {"aten::_nested_tensor_from_mask_left_aligned"}};

}  // namespace ipex_studio
