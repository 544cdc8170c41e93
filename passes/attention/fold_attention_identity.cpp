// Answers whether two arguments of the model are one tensor, where only PyTorch's own attention asks.
//   before  %same = aten::__is__(%q, %kv)   in torch.nn.functional.multi_head_attention_forward
//   after   %same = false
// Its answers choose among forms that compute the same: one product for queries, keys and values, or several. So one
// graph serves all calls, and insert-identity-branch need not write two, of which the example sees one.
// Views of arguments are asked about, too: attention turns batches around, and gives single samples a batch axis.
// Declines: nothing with a remark (other functions, values that are no arguments, files that hold no calls).
// Runs before insert-identity-branch. Numerics: where a caller passes one tensor, products are grouped otherwise.
#include <algorithm>
#include <string>
#include <unordered_set>

#include "core/graph/fused_op.h"
#include "core/graph/node_facts.h"
#include "core/graph/rewrite_matches.h"
#include "passes/pass_list.h"

namespace ipex_studio {
namespace {

using torch::jit::Node;
using torch::jit::Value;

// The name of a function without what keeps several classes of one name apart.
std::string plainName(const c10::QualifiedName& name) {
  std::string plain;
  for (const std::string& atom : name.atoms()) {
    if (atom.rfind("___torch_mangle_", 0) == 0) continue;
    plain += plain.empty() ? atom : "." + atom;
  }
  return plain;
}

bool isOfAttention(const Node* node) {
  static const std::unordered_set<std::string> functions = {
      "__torch__.torch.nn.functional.multi_head_attention_forward",
      "__torch__.torch.nn.functional._in_projection_packed",
      "__torch__.torch.nn.modules.activation.MultiheadAttention.forward"};
  const auto calls = node->callstack();
  if (!calls) return false;
  const torch::jit::Function* function = std::get<0>((*calls)->vec().back());
  return function != nullptr && functions.count(plainName(function->qualname())) != 0;
}

// The argument that the value is, or a view of, whichever way through conditions is taken; nullptr: there is none.
const Value* argumentOf(const Value* value) {
  const Node* node = value->node();
  if (node == node->owningGraph()->param_node())
    return value->type()->kind() == c10::TypeKind::TensorType ? value : nullptr;
  if (node->kind() == torch::jit::aten::unsqueeze || node->kind() == torch::jit::aten::transpose)
    return argumentOf(node->input(0));
  if (node->kind() != c10::prim::If) return nullptr;
  const Value* of_first = argumentOf(node->blocks()[0]->outputs()[value->offset()]);
  return of_first == argumentOf(node->blocks()[1]->outputs()[value->offset()]) ? of_first : nullptr;
}

bool matchIdentity(PassContext&, Node* node, Decline*) {
  if (!isOfAttention(node)) return false;
  const Value *a = argumentOf(node->input(0)), *b = argumentOf(node->input(1));
  return a != nullptr && b != nullptr && a != b;
}

void rewriteIdentity(Rewriter& rewriter, Node* node) {
  rewriter.replace({node}, node->output(), rewriter.constant(isKind(node, "aten::__isnot__"), node),
                   "computes the same for one tensor and for two");
}

bool foldAttentionIdentity(torch::jit::Graph&, PassContext& context) {
  return rewriteMatches(context, context.nodes(kFoldAttentionIdentity.needs), matchIdentity, rewriteIdentity);
}

}  // namespace

const Pass kFoldAttentionIdentity = {"fold-attention-identity",
                                     "Lets one form of attention serve calls with one tensor and with several.",
                                     &foldAttentionIdentity,
                                     {"aten::__is__", "aten::__isnot__"}};

}  // namespace ipex_studio
