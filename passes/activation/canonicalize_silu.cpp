// Recognises silu (swish) that was written out.
//   before  %s = sigmoid(%x)   %z = mul(%x, %s)
//   after   %z = silu(%x)
// Declines: producer-has-other-uses (the sigmoid), unsupported-dtype (not known to be floating),
// value-may-be-aliased-or- written. Runs before every fusion: each of those knows one node per activation. Numerics:
// one rounding less.
#include "passes/match/algebra.h"
#include "passes/match/post_op_fusion.h"
#include "passes/pass_list.h"

namespace ipex_studio {

using torch::jit::Node;
using torch::jit::Value;

namespace {

// The sigmoid of a product x·sigmoid(x).
Node* matchSigmoid(Node* root) {
  if (std::string("aten::mul") != root->kind().toQualString() || root->inputs().size() != 2) return nullptr;
  for (std::size_t side : {0, 1}) {
    Node* sigmoid = root->input(side)->node();
    const bool is_sigmoid = std::string("aten::sigmoid") == sigmoid->kind().toQualString();
    if (is_sigmoid && sigmoid->input(0) == root->input(1 - side)) return sigmoid;
  }
  return nullptr;
}

bool canonicalizeSilu(torch::jit::Graph& graph, PassContext& context) {
  bool changed = false;
  for (Node* node : context.nodes({"aten::mul"})) {
    if (!context.rewriter.alive(node)) continue;
    Node* sigmoid = matchSigmoid(node);
    if (!sigmoid) continue;
    Value* x = sigmoid->input(0);
    const auto dtype = knownDtype(x);
    if (!onlyReadInside({node, sigmoid}, node)) {
      context.missed(node, reasons::kOtherUses, "The sigmoid of this silu is read elsewhere.");
    } else if (!dtype || !at::isFloatingType(*dtype)) {
      context.missed(node, reasons::kUnsupportedDtype, "The source of this silu is not known to be floating.");
    } else if (context.mayBeWritten(x)) {
      context.missed(node, reasons::kAliased, "The source of this silu may be written to.");
    } else {
      if (!context.rewriter.permit()) break;
      Node* silu = context.rewriter.create("aten::silu", {x}, node);
      context.rewriter.replace({sigmoid, node}, node->output(), silu->output(), "recognised silu");
      changed = true;
    }
  }
  return changed;
}

}  // namespace

const Pass kCanonicalizeSilu = {
    "canonicalize-silu", "Recognises silu (swish) that was written out.", &canonicalizeSilu, {"aten::sigmoid"}};

}  // namespace ipex_studio
