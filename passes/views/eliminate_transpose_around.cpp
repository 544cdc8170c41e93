// Removes permutations around operations that work along any axis, where the second undoes the first.
//   before  %a = permute(%x, [0, 2, 3, 1])   %b = contiguous(%a)   %c = softmax(%b, -1)   %d = relu(%c)
//           %y = permute(%d, [0, 3, 1, 2])
//   after   %c = softmax(%x, 1)   %y = relu(%c)
// Operations: softmax, log_softmax and elementwise ones on one tensor, each read by the next alone.
// Declines: value-may-be-aliased-or-written. Silent where axes are not constant.
// Runs after the canonical forms of activations and softmax. Numerics: none but the order of sums.
#include <algorithm>

#include "core/graph/fused_op.h"
#include "core/graph/rewrite_matches.h"
#include "passes/match/permutation.h"
#include "passes/match/pieces.h"
#include "passes/pass_list.h"

namespace ipex_studio {

using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;
namespace aten = torch::jit::aten;

namespace {

struct PermutedChain {
  Value* source = nullptr;
  Permutation order;              // of the first permutation
  std::vector<Node*> operations;  // in the order that they run
  std::vector<Node*> consumed;
};

bool isSoftmax(const Node* node) { return node->kind() == aten::softmax || node->kind() == aten::log_softmax; }

// A copy that changes the order in memory alone.
bool isCopy(const Node* node) {
  return node->kind() == aten::contiguous &&
         constantInt(node->input(1)) == static_cast<std::int64_t>(at::MemoryFormat::Contiguous);
}

bool undoes(const Permutation& second, const Permutation& first) {
  if (second.size() != first.size()) return false;
  Permutation both(first.size());
  for (std::size_t i = 0; i < first.size(); ++i) both[i] = first[static_cast<std::size_t>(second[i])];
  return isIdentityPermutation(both);
}

std::optional<PermutedChain> readChain(Node* last) {
  const auto second = permutationOf(last);
  if (!second) return std::nullopt;
  PermutedChain chain;
  const Node* user = last;
  for (Value* value = last->input(0); usedOnlyBy(value, user); value = value->node()->input(0)) {
    Node* node = value->node();
    if (node->owningBlock() != last->owningBlock() || node->inputs().empty()) return std::nullopt;
    chain.consumed.insert(chain.consumed.begin(), node);
    user = node;
    if (const auto first = permutationOf(node)) {
      if (chain.operations.empty() || !undoes(*second, *first)) return std::nullopt;
      chain.source = node->input(0);
      chain.order = *first;
      chain.consumed.push_back(last);
      return chain;
    }
    if (isCopy(node)) continue;
    const bool known_axis = isSoftmax(node) && readAxis(node->input(1), node->input(0)).has_value();
    if (!known_axis && !readUnaryPostOp(node)) return std::nullopt;
    chain.operations.insert(chain.operations.begin(), node);
  }
  return std::nullopt;
}

std::optional<PermutedChain> matchChain(PassContext& context, Node* last, Decline* why) {
  auto chain = readChain(last);
  if (chain && (context.mayBeWritten(chain->source) || context.mayBeWritten(last->output())))
    *why = {reasons::kAliased, "What is permuted may be written to."};
  return chain;
}

void rewriteChain(Rewriter& rewriter, Node* last, const PermutedChain& chain) {
  Value* value = chain.source;
  for (Node* node : chain.operations) {
    std::vector<Value*> inputs = node->inputs().vec();
    inputs[0] = value;
    if (isSoftmax(node)) {
      const auto axis = static_cast<std::size_t>(*readAxis(node->input(1), node->input(0)));
      inputs[1] = rewriter.constant(chain.order[axis], last);
    }
    Node* made = rewriter.create(node->kind().toQualString(), inputs, last);
    made->output()->setType(last->output()->type());
    value = made->output();
  }
  rewriter.replace(chain.consumed, last->output(), value, "computed without the permutations around");
}

bool eliminateTransposeAround(Graph& graph, PassContext& context) {
  return rewriteMatches(context, context.nodes(kEliminateTransposeAround.needs), matchChain, rewriteChain);
}

}  // namespace

const Pass kEliminateTransposeAround = {"eliminate-transpose-around",
                                        "Removes transposes around operations that work along any axis.",
                                        &eliminateTransposeAround,
                                        {"aten::permute", "aten::transpose", "aten::t"}};

}  // namespace ipex_studio
