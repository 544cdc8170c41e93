// Writes the cells of plain recurrent layers as products.
//   before  %h' = rnn_tanh_cell(%x, %h, %w, %u, %b, %c)
//   after   %p = linear(%x, %w, %b)   %q = linear(%h, %u, %c)   %s = add(%p, %q, 1)   %h' = tanh(%s)
// rnn_relu_cell alike. Plans know products with what follows them, and none of these cells.
// Declines: nothing with a remark (sizes that were not seen). Runs before canonicalize-linear. Numerics: none changed;
// the cell computes the same.
#include "core/graph/node_facts.h"
#include "core/graph/rewrite_matches.h"
#include "passes/match/node_writer.h"
#include "passes/pass_list.h"

namespace ipex_studio {

using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;

namespace {

bool matchCell(PassContext&, const Node* node, Decline*) {
  return node->inputs().size() == 6 && knownSizes(node->output()) && knownDtype(node->input(0));
}

void rewriteCell(Rewriter& rewriter, Node* node) {
  NodeWriter writer(rewriter, node);
  const auto sizes = *knownSizes(node->output());
  Value* of_input = writer.make("aten::linear", {node->input(0), node->input(2), node->input(4)}, sizes);
  Value* of_state = writer.make("aten::linear", {node->input(1), node->input(3), node->input(5)}, sizes);
  Value* sum = writer.make("aten::add", {of_input, of_state, writer.number(1)}, sizes);
  Value* state = writer.make(isKind(node, "aten::rnn_tanh_cell") ? "aten::tanh" : "aten::relu", {sum}, sizes);
  rewriter.replace({node}, node->output(), state, "writes the cell as products");
}

bool canonicalizeRnnCell(Graph&, PassContext& context) {
  return rewriteMatches(context, context.nodes(kCanonicalizeRnnCell.needs), matchCell, rewriteCell);
}

}  // namespace

const Pass kCanonicalizeRnnCell = {"canonicalize-rnn-cell",
                                   "Writes the cells of plain recurrent layers as products.",
                                   &canonicalizeRnnCell,
                                   {"aten::rnn_tanh_cell", "aten::rnn_relu_cell"}};

}  // namespace ipex_studio
