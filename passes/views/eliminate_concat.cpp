// Reads the tensor itself where its pieces are put together again in their order.
//   before  %a = slice(%x, 1, 0, 16, 1)   %b = slice(%x, 1, 16, None, 1)   %y = cat([%a, %b], 1)
//           %p, %q = split(%x, 8, 2)      %z = cat([%p, %q], 2)
//           %r, %s = unbind(%x, 1)        %u = stack([%r, %s], 1)
//   after   %y = %z = %u = %x
// Only where the pieces are all of it, whatever its size: the last slice has no end.
// Joined tensors are dense whatever their pieces are. So the source must be dense, too, because an operator made it
// that gives dense results. Declines: value-may-be-aliased-or-written, value-is-graph-output.
// Runs with eliminate-identity. Numerics: none changed.
#include <algorithm>
#include <unordered_set>

#include "core/graph/elementwise.h"
#include "core/graph/rewrite_matches.h"
#include "passes/match/aliasing.h"
#include "passes/match/pieces.h"
#include "passes/pass_list.h"

namespace ipex_studio {

using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;
namespace aten = torch::jit::aten;

namespace {

// Operators whose results are dense whatever the strides of their operands.
bool givesDense(const Node* node) {
  static const std::unordered_set<std::string> kKinds = {
      "aten::convolution", "aten::_convolution", "aten::conv1d",    "aten::conv2d", "aten::conv3d",
      "aten::linear",      "aten::matmul",       "aten::bmm",       "aten::mm",     "aten::addmm",
      "aten::embedding",   "aten::layer_norm",   "aten::cat",       "aten::stack",  "aten::softmax",
      "aten::max_pool2d",  "aten::avg_pool2d",   "aten::contiguous"};
  return kKinds.count(node->kind().toQualString()) != 0;
}

// True if the value is dense in every run: elementwise operators keep the order in memory of what they read.
bool isDense(Value* value, int depth = 8) {
  Node* node = value->node();
  if (givesDense(node)) return true;
  const auto read = depth > 0 && mayBeElementwise(node->kind()) ? readElementwise(node) : std::nullopt;
  return read && isDense(read->data, depth - 1) && (read->operand == nullptr || isDense(read->operand, depth - 1));
}

// True if the source is fresh memory that only the pieces read, and only the joined tensor reads them: the source may
// then leave the graph in its place.
bool onlyJoined(const Pieces& pieces, Node* list) {
  std::vector<Node*> readers = pieces.nodes;
  readers.push_back(list);
  const auto read_inside = [&](const Value* value) {
    return std::all_of(value->uses().begin(), value->uses().end(), [&](const torch::jit::Use& use) {
      return std::find(readers.begin(), readers.end(), use.user) != readers.end();
    });
  };
  const auto all_inside = [&](const Node* node) {
    return std::all_of(node->outputs().begin(), node->outputs().end(), read_inside);
  };
  return isFresh(pieces.source) && read_inside(pieces.source) &&
         std::all_of(pieces.nodes.begin(), pieces.nodes.end(), all_inside);
}

std::optional<Pieces> matchConcat(PassContext& context, Node* node, Decline* why) {
  const auto pieces = readPieces(joinedValues(node));
  if (!pieces || !pieces->whole() || pieces->removes_axis != (node->kind() == aten::stack)) return std::nullopt;
  if (readAxis(node->input(1), node->output()) != pieces->axis || !isDense(pieces->source)) return std::nullopt;
  *why = checkSameValue(context, node->output(), pieces->source, onlyJoined(*pieces, node->input(0)->node()));
  return pieces;
}

void rewriteConcat(Rewriter& rewriter, Node* node, const Pieces& pieces) {
  std::vector<Node*> consumed = pieces.nodes;
  consumed.push_back(node->input(0)->node());
  consumed.push_back(node);
  rewriter.replace(consumed, node->output(), pieces.source, "pieces of a tensor joined again are the tensor");
}

bool eliminateConcat(Graph& graph, PassContext& context) {
  return rewriteMatches(context, context.nodes(kEliminateConcat.needs), matchConcat, rewriteConcat);
}

}  // namespace

const Pass kEliminateConcat = {"eliminate-concat",
                               "Reads the tensor itself where its pieces are joined again.",
                               &eliminateConcat,
                               {"aten::cat", "aten::stack"}};

}  // namespace ipex_studio
