// Looks rows of a table up that a product with one-hot rows picks.
//   before  %h = one_hot(%ids, 5000)   %f = to(%h, float)   %y = matmul(%f, %table)
//   after   %y = embedding(%table, %ids, -1, False, False)
// Of a linear the table is its transposed weight, and its bias is added.
// Declines: operand-not-constant (the number of classes), weights-not-constant, shape-mismatch, unsupported-dtype,
// unsupported-attribute (a table with infinities or NaN, which the zeros of the other rows would spread).
// Runs after fold-constants, which makes the table a constant, and before canonicalize-linear. Numerics: none changed,
// as a row times one and zeros are summed.
#include "core/graph/node_facts.h"
#include "core/graph/rewrite_matches.h"
#include "passes/match/node_writer.h"
#include "passes/pass_list.h"

namespace ipex_studio {

using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;

namespace {

// The one_hot behind casts; null: there is none.
Node* oneHotBehind(Value* value) {
  Node* node = value->node();
  while (convertsDtype(node)) node = node->input(0)->node();
  return isKind(node, "aten::one_hot") ? node : nullptr;
}

struct OneHotProduct {
  Value* ids = nullptr;
  Value* table = nullptr;
  Value* bias = nullptr;  // null: there is none
  bool transposed = false;
  std::vector<std::int64_t> sizes;  // of the rows
};

std::optional<OneHotProduct> matchOneHot(PassContext&, Node* node, Decline* why) {
  Node* one_hot = oneHotBehind(node->input(0));
  if (one_hot == nullptr) return std::nullopt;
  OneHotProduct found;
  found.ids = one_hot->input(0);
  found.table = node->input(1);
  found.transposed = isKind(node, "aten::linear");
  if (found.transposed && !isNone(node->input(2))) found.bias = node->input(2);
  const auto classes = constantInt(one_hot->input(1));
  const auto table = constantTensor(found.table);
  const auto ids = knownSizes(found.ids);
  if (!classes) {
    *why = {reasons::kNotConstant, "The number of one-hot classes is not known before the model runs."};
  } else if (!table) {
    *why = {reasons::kWeightsNotConstant, "The table behind one-hot rows is no constant."};
  } else if (table->dim() != 2 || table->size(found.transposed ? 1 : 0) != *classes || !ids) {
    *why = {reasons::kShapeMismatch, "The table does not have a row for each one-hot class."};
  } else if (table->scalar_type() != at::kFloat || knownDtype(node->input(0)) != at::kFloat) {
    *why = {reasons::kUnsupportedDtype, "The product with one-hot rows is not in FP32."};
  } else if (!at::isfinite(*table).all().item<bool>()) {
    *why = {reasons::kUnsupportedAttribute, "The table has values that are not finite, which zeros would spread."};
  } else {
    found.sizes = *ids;
    found.sizes.push_back(table->size(found.transposed ? 0 : 1));
  }
  return found;
}

void rewriteOneHot(Rewriter& rewriter, Node* node, OneHotProduct& product) {
  NodeWriter writer(rewriter, node);
  Value* table = product.table;
  if (product.transposed) table = rewriter.constant(constantTensor(table)->t().contiguous(), node);
  Value* no = writer.no();
  Value* y = writer.make("aten::embedding", {table, product.ids, writer.number(-1), no, no}, product.sizes);
  if (product.bias != nullptr) y = writer.make("aten::add", {y, product.bias, writer.number(1)}, product.sizes);
  rewriter.replace({node}, node->output(), y, "looks rows up");
}

bool canonicalizeOneHot(Graph&, PassContext& context) {
  return rewriteMatches(context, context.nodes({"aten::matmul", "aten::mm", "aten::linear"}), matchOneHot,
                        rewriteOneHot);
}

}  // namespace

const Pass kCanonicalizeOneHot = {"canonicalize-one-hot",
                                  "Looks rows of a table up that a product with one-hot rows picks.",
                                  &canonicalizeOneHot,
                                  {"aten::one_hot"}};

}  // namespace ipex_studio
