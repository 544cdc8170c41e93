// Answers what type a value has where its own type leaves no doubt.
//   before  %b = prim::isinstance[types=[list, tuple]](%x : Tensor)   %y = prim::If(%b) …
//   after   %b = false   %y = prim::If(false) …                       which fold-constants decides
// Functions that take a tensor or a list of tensors ask this, and know the answer once they are inlined. Declines:
// nothing with a remark. Runs before fold-constants. Numerics: none.
#include <algorithm>

#include "core/graph/rewrite_matches.h"
#include "passes/pass_list.h"

namespace ipex_studio {
namespace {

using torch::jit::Node;

// True for a type whose values have no other one.
bool isSettled(const c10::Type& type) {
  switch (type.kind()) {
    case c10::TypeKind::TensorType:
    case c10::TypeKind::ListType:
    case c10::TypeKind::DictType:
    case c10::TypeKind::IntType:
    case c10::TypeKind::FloatType:
    case c10::TypeKind::BoolType:
    case c10::TypeKind::StringType:
      return true;
    default:
      return false;
  }
}

std::optional<bool> matchIsinstance(PassContext&, const Node* node, Decline*) {
  const c10::TypePtr type = node->input(0)->type();
  const std::vector<c10::TypePtr> asked = node->tys(c10::attr::types);
  const auto is = [&](const c10::TypePtr& one) { return type->isSubtypeOf(*one); };
  if (std::any_of(asked.begin(), asked.end(), is)) return true;
  const auto may_be = [&](const c10::TypePtr& one) { return one->isSubtypeOf(*type); };
  if (!isSettled(*type) || std::any_of(asked.begin(), asked.end(), may_be)) return std::nullopt;
  return false;
}

void rewriteIsinstance(Rewriter& rewriter, Node* node, bool answer) {
  rewriter.replace({node}, node->output(), rewriter.constant(answer, node),
                   answer ? "the type is the one asked for" : "the type is another");
}

bool foldIsinstance(torch::jit::Graph& graph, PassContext& context) {
  return rewriteMatches(context, context.nodes(kFoldIsinstance.needs), matchIsinstance, rewriteIsinstance);
}

}  // namespace

const Pass kFoldIsinstance = {
    "fold-isinstance", "Answers what type a value has where that is known.", &foldIsinstance, {"prim::isinstance"}};

}  // namespace ipex_studio
