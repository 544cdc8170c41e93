// Fuses what is left of elementwise chains into single walks over memory.
//   before  %a = mul(%x, %y)   %b = add(%a, %v, 1)   %z = tanh(%b)
//   after   %z = ipex_studio::pointwise(%x, [%y, %v], "pointwise{}|mul(0)|add(1)|tanh")
// The chain starts at an operand that has the sizes of the result; the others may broadcast to it. Each link but the
// last is read by the next alone. Declines: unsupported-dtype (only float32), mixed-dtype, unknown-shape,
// operand-broadcasts-result, value-may-be-aliased-or-written. A link that is read elsewhere simply begins another
// chain. Runs after every fusion into convolutions, products and normalizations. Numerics: no reassociation but that of
// neighbouring numbers; approximations differ by a few ulp.
#include <fmt/format.h>

#include <algorithm>

#include "core/graph/rewrite_matches.h"
#include "passes/match/post_op_fusion.h"
#include "passes/pass_list.h"

namespace ipex_studio {

using torch::jit::Node;
using torch::jit::Value;

namespace {

// An elementwise node ready to be a link: data has the sizes and dtype of the result.
std::optional<Elementwise> readLink(PassContext& context, Node* node, std::size_t side, Decline* decline) {
  auto elementwise = readElementwise(node, side);
  if (!elementwise) return std::nullopt;
  if (!isFloat32(elementwise->data) || !isFloat32(node->output())) {
    *decline = {reasons::kUnsupportedDtype, "The chain is not known to compute in float32."};
    return std::nullopt;
  }
  if (!knownSizes(elementwise->data)) {
    *decline = {reasons::kUnknownShape, "The sizes along the chain are not known."};
    return std::nullopt;
  }
  if (elementwise->operand && !operandFits(context, elementwise->operand, elementwise->data, decline))
    return std::nullopt;
  if (context.mayBeWritten(elementwise->data)) {
    *decline = {reasons::kAliased, "A source of the chain may be written to."};
    return std::nullopt;
  }
  return elementwise;
}

bool isElementwise(Node* node) { return readElementwise(node, 0) || readElementwise(node, 1); }

// The chain that produces `value` for `user` alone: one made before, or a single node to begin one with.
std::optional<FusedOp> readChain(PassContext& context, Value* value, const Node* user, Decline* decline) {
  Node* node = value->node();
  if (!usedOnlyBy(value, user) || node->owningBlock() != user->owningBlock()) return std::nullopt;
  auto made = readFusedOp(node);
  if (made) {
    if (made->spec.kind != OpKind::kPointwise || !isFloat32(value)) return std::nullopt;
    if (mayBeReadLater(context, *made)) return made;
    *decline = {reasons::kAliased, "A source of the chain may be written to."};
    return std::nullopt;
  }
  for (std::size_t side : {0, 1}) {
    const auto link = readLink(context, node, side, decline);
    if (!link) continue;
    *decline = {};
    FusedOp op;
    op.spec.kind = OpKind::kPointwise;
    op.base = {link->data};
    appendTo(&op, *link);
    return op;
  }
  return std::nullopt;
}

struct LinkMatch {
  FusedOp op;
  Node* previous = nullptr;
};

std::optional<LinkMatch> matchLink(PassContext& context, Node* node, Decline* why) {
  for (std::size_t side : {0, 1}) {
    Decline declined;
    const auto elementwise = readElementwise(node, side);
    if (!elementwise) continue;
    Node* previous = elementwise->data->node();
    auto chain = readChain(context, elementwise->data, node, &declined);
    const auto link = chain ? readLink(context, node, side, &declined) : std::nullopt;
    if (link && appendTo(&chain.value(), *link)) {
      *why = {};  // of the other side
      return LinkMatch{*chain, previous};
    }
    if (declined && isElementwise(previous)) *why = declined;
  }
  return std::nullopt;
}

// Appends the only reader of `node` to `op` if it is the next link and no other chain comes first there. Null if it is
// not, or if matchLink() will decline it when the walk gets there.
Node* takeNextLink(PassContext& context, FusedOp* op, Node* node) {
  Value* result = node->output();
  if (result->uses().size() != 1) return nullptr;
  Node* next = result->uses()[0].user;
  if (next->owningBlock() != node->owningBlock()) return nullptr;
  Decline unsaid;
  for (const std::size_t side : {0, 1}) {
    const auto elementwise = readElementwise(next, side);
    if (!elementwise) continue;
    const auto link = elementwise->data == result ? readLink(context, next, side, &unsaid) : std::nullopt;
    return link && appendTo(op, *link) ? next : nullptr;
  }
  return nullptr;
}

bool fusePointwise(torch::jit::Graph& graph, PassContext& context) {
  const auto rewrite = [&](Rewriter& rewriter, Node* node, LinkMatch& match) {
    std::vector<Node*> consumed = {match.previous, node};
    std::string names = shortName(node);
    while (Node* next = takeNextLink(context, &match.op, consumed.back())) {
      consumed.push_back(next);
      names += " + " + shortName(next);
    }
    Node* last = consumed.back();
    Node* fused = writeFusedOp(rewriter, match.op, last);
    rewriter.replace(consumed, last->output(), fused->output(), fmt::format("fused {} into a pointwise chain", names));
  };
  return rewriteMatches(context, context.nodesWhere(&mayBeElementwise), matchLink, rewrite);
}

}  // namespace

const Pass kFusePointwise = {"fuse-pointwise", "Fuses chains of elementwise operations into one walk over memory.",
                             &fusePointwise};

}  // namespace ipex_studio
