// Reads slices of a tensor from the tensor where a list of all of them is read at an index that is no constant.
//   before  %l = unbind(%x, 1)   %n = len(%l)   %s = __getitem__(%l, %i)
//   after   %n = size(%x, 1)   %s = select(%x, 1, %i)
// Loops over a tensor, or over the slices of it, are written so: the list is made before, and its length is the number
// of rounds.
// Declines: value-may-be-aliased-or-written. Runs after eliminate-list, which reads elements by a constant index of
// lists that are made here. Numerics: none.
#include "core/graph/node_facts.h"
#include "core/graph/rewrite_matches.h"
#include "passes/match/node_writer.h"
#include "passes/pass_list.h"

namespace ipex_studio {

using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;

namespace {

bool matchRead(PassContext& context, Node* node, Decline* why) {
  if (!isKind(node, "aten::len") && !isKind(node, "aten::__getitem__")) return false;
  Node* list = node->input(0)->node();
  if (!isKind(list, "aten::unbind")) return false;
  if (isKind(node, "aten::__getitem__") && constantInt(node->input(1))) return false;
  if (context.mayBeWritten(list->output()) || context.mayBeWritten(list->input(0)))
    *why = {reasons::kAliased, "The tensor, or the list of its slices, may be written to."};
  return true;
}

void rewriteRead(Rewriter& rewriter, Node* node) {
  Node* list = node->input(0)->node();
  const bool asks_length = isKind(node, "aten::len");
  Node* read = asks_length ? rewriter.create("aten::size", {list->input(0), list->input(1)}, node)
                           : rewriter.create("aten::select", {list->input(0), list->input(1), node->input(1)}, node);
  read->output()->setType(node->output()->type());
  rewriter.replace({list, node}, node->output(), read->output(),
                   asks_length ? "asks the tensor for its size" : "takes the slice from the tensor");
}

bool canonicalizeUnbind(Graph&, PassContext& context) {
  return rewriteMatches(context, context.nodes({"aten::len", "aten::__getitem__"}), matchRead, rewriteRead);
}

}  // namespace

const Pass kCanonicalizeUnbind = {"canonicalize-unbind",
                                  "Reads slices of a tensor from the tensor where a list of all of them is indexed.",
                                  &canonicalizeUnbind,
                                  {"aten::unbind"}};

}  // namespace ipex_studio
