// Asks for one size at a time instead of for a list of all, and knows how many there are.
//   before  %s = aten::size(%x)   %n, %c, %h, %w = prim::ListUnpack(%s)   %y = view(%z, %s)   %d = aten::dim(%x)
//   after   %n = aten::size(%x, 0)   …   %list = prim::ListConstruct(%n, %c, %h, %w)   %y = view(%z, %list)   %d = 4
// The number of elements is the product of the sizes.
// Elements taken by a constant index, constant slices, unpacked lists, lengths, ranks, and lists that are only read.
// The rank is the example's, which plans take alone.
// Declines: unknown-shape; unsupported-operator (a list that may be written to).
// Runs before fold-size, which decides single sizes, and before fold-constants, which takes the branch that a rank
// decides. Numerics: none changed.
#include <algorithm>
#include <optional>
#include <utility>

#include "core/graph/fused_op.h"
#include "core/graph/node_facts.h"
#include "core/graph/pass.h"
#include "passes/pass_list.h"

namespace ipex_studio {

using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;
namespace aten = torch::jit::aten;
namespace prim = torch::jit::prim;

namespace {

bool isSizeList(const Node* node) {
  return node->kind() == aten::size && node->inputs().size() == 1 && node->outputs().size() == 1;
}

Value* sizeOf(Rewriter& rewriter, Value* x, std::int64_t axis, Node* before) {
  Node* size = rewriter.create("aten::size", {x, rewriter.constant(axis, before)}, before);
  size->output()->setType(c10::IntType::get());
  return size->output();
}

std::vector<Value*> sizesOf(Rewriter& rewriter, Value* x, std::int64_t begin, std::int64_t end, Node* before) {
  std::vector<Value*> sizes;
  for (std::int64_t axis = begin; axis < end; ++axis) sizes.push_back(sizeOf(rewriter, x, axis, before));
  return sizes;
}

Value* listed(Rewriter& rewriter, const std::vector<Value*>& sizes, Node* before) {
  Node* made = rewriter.create("prim::ListConstruct", sizes, before);
  made->output()->setType(c10::ListType::ofInts());
  return made->output();
}

bool onlyReads(const torch::jit::Use& use) {
  if (isKind(use.user, "aten::format")) return true;  // of any number of operands, which its schema does not name
  const auto* schema = use.user->maybeSchema();
  if (schema == nullptr || use.offset >= schema->arguments().size()) return false;
  const auto* alias = schema->arguments()[use.offset].alias_info();
  return alias == nullptr;
}

// A reader behind a write reads another list.
bool writes(const torch::jit::Use& use) {
  const auto* schema = use.user->maybeSchema();
  if (schema == nullptr || use.offset >= schema->arguments().size()) return false;
  const auto* alias = schema->arguments()[use.offset].alias_info();
  return alias != nullptr && alias->isWrite();
}

// Rewrites one user of the list of `x`'s sizes; false: it has to stay.
bool rewriteUser(Rewriter& rewriter, Node* list, const torch::jit::Use& use, std::int64_t rank) {
  Value* x = list->input(0);
  Node* user = use.user;
  if (user->kind() == prim::ListUnpack && static_cast<std::int64_t>(user->outputs().size()) == rank) {
    const std::vector<Value*> from(user->outputs().begin(), user->outputs().end());
    rewriter.replaceAll({user, list}, from, sizesOf(rewriter, x, 0, rank, user), "asks for one size at a time");
    return true;
  }
  const auto count = static_cast<std::size_t>(rank);
  const auto index = user->kind() == aten::__getitem__ ? constantIndex(user->input(1), count) : std::nullopt;
  if (index) {
    rewriter.replace({user, list}, user->output(), sizeOf(rewriter, x, static_cast<std::int64_t>(*index), user),
                     "asks for one size");
    return true;
  }
  if (user->kind() == aten::len) {
    rewriter.replace({user, list}, user->output(), rewriter.constant(rank, user), "knows the number of sizes");
    return true;
  }
  const auto part = constantSlice(user, count);  // whose readers may write to their own list only
  if (part && part->step == 1) {
    rewriter.replace({user, list}, user->output(),
                     listed(rewriter, sizesOf(rewriter, x, part->begin, part->end, user), user),
                     "lists some of the sizes");
    return true;
  }
  if (!onlyReads(use)) return false;
  rewriter.replaceInput(user, use.offset, listed(rewriter, sizesOf(rewriter, x, 0, rank, user), user));
  rewriter.finish(user, "lists single sizes");
  return true;
}

// Multiplies the sizes of `x`, in front of the node that asks for their product.
Value* productOfSizes(Rewriter& rewriter, Value* x, std::int64_t rank, Node* before) {
  if (rank == 0) return rewriter.constant(std::int64_t{1}, before);
  Value* product = sizeOf(rewriter, x, 0, before);
  for (std::int64_t axis = 1; axis < rank; ++axis) {
    Node* multiplied = rewriter.create("aten::mul", {product, sizeOf(rewriter, x, axis, before)}, before);
    product = multiplied->output();
    product->setType(c10::IntType::get());
  }
  return product;
}

bool canonicalizeSizes(Graph& graph, PassContext& context) {
  bool changed = false;
  Rewriter& rewriter = context.rewriter;
  for (Node* node : context.nodes(kCanonicalizeSizes.needs)) {
    if (!rewriter.alive(node)) continue;
    const bool asks_rank = node->kind() == aten::dim && node->inputs().size() == 1;
    const bool asks_count = isKind(node, "aten::numel");
    if (!asks_rank && !asks_count && !isSizeList(node)) continue;
    const auto sizes = knownSizes(node->input(0));
    if (!sizes) {
      context.missed(node, reasons::kUnknownShape, "The number of dimensions was not seen in the example run.");
      continue;
    }
    const auto rank = static_cast<std::int64_t>(sizes->size());
    if (asks_rank || asks_count) {
      if (!rewriter.permit(node)) continue;
      Value* known = asks_rank ? rewriter.constant(rank, node) : productOfSizes(rewriter, node->input(0), rank, node);
      rewriter.replace({node}, node->output(), known,
                       asks_rank ? "knows the number of dimensions" : "multiplies the sizes");
      changed = true;
      continue;
    }
    const std::vector<torch::jit::Use> uses = node->output()->uses();
    const bool written = std::any_of(uses.begin(), uses.end(), writes);
    bool kept = written;
    for (std::size_t u = 0; u < uses.size() && !written; ++u) {
      if (!rewriter.permit(uses[u].user)) break;
      const bool done = rewriteUser(rewriter, node, uses[u], rank);
      changed |= done;
      kept |= !done;
    }
    if (kept) {
      context.missed(node, reasons::kUnsupportedOperator, "The list of sizes may be written to or leaves the graph.");
    } else if (rewriter.alive(node) && node->output()->uses().empty()) {
      if (!rewriter.permit()) break;
      rewriter.erase(node, "nobody reads the list");
    }
  }
  return changed;
}

}  // namespace

const Pass kCanonicalizeSizes = {"canonicalize-sizes",
                                 "Asks for one size at a time instead of for a list of all.",
                                 &canonicalizeSizes,
                                 {"aten::dim", "aten::size", "aten::numel"}};

}  // namespace ipex_studio
