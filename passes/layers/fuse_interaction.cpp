// Fuses the products of all pairs of features, of which a triangle is read (DLRM's interaction).
//   before  %x = stack([%a, %b, %c], 1)   %p = ipex_studio::matmul(%x, %x, [], "matmul{transpose_b=1}")
//           %t = index(%p, [None, rows, columns])   %y = cat([%a, %t], 1)
//   after   %y = ipex_studio::interaction([%a, %b, %c], "interaction{dense=1,features=3,triangle=lower}")
// rows and columns are the places below the diagonal, row by row, or those above it, with or without the diagonal.
// Without the concatenation with the first feature the result is %t. Features that no stack or concatenation of whole
// features makes are taken as they are.
// Declines: other-uses (the products are read elsewhere), unsupported-attribute (other places), unsupported-dtype,
// value-may-be-aliased-or-written. Runs after fuse-matmul-transpose, which makes the product. Numerics: sums in another
// order, a few ulp.
#include <algorithm>

#include "core/graph/node_facts.h"
#include "core/graph/rewrite_matches.h"
#include "passes/match/post_op_fusion.h"
#include "passes/pass_list.h"

namespace ipex_studio {

using torch::jit::Node;
using torch::jit::Value;

namespace {

struct InteractionMatch {
  Node* product = nullptr;
  Node* index = nullptr;
  Node* concat = nullptr;  // may be null
  std::vector<Value*> features;
  OpSpec spec;
};

// The product x·xᵀ of a batch of matrices with themselves.
bool isGram(const Node* node) {
  if (!isKind(node, "ipex_studio::matmul") || node->input(0) != node->input(1)) return false;
  const auto text = torch::jit::toIValue(node->inputs().back());
  const auto sizes = knownSizes(node->input(0));
  return text && text->isString() && text->toStringRef() == "matmul{transpose_b=1}" && sizes && sizes->size() == 3;
}

// The constant indices of the last two axes of a batch of matrices.
std::optional<std::pair<at::Tensor, at::Tensor>> placesOf(const Node* index) {
  const auto list = decidedElements(index->input(1));
  if (!list || list->size() != 3 || !isNone((*list)[0])) return std::nullopt;
  const auto rows = constantTensor((*list)[1]), columns = constantTensor((*list)[2]);
  if (!rows || !columns || rows->scalar_type() != at::kLong || columns->scalar_type() != at::kLong) return std::nullopt;
  return std::make_pair(*rows, *columns);
}

// Stores which triangle of a symmetric matrix of `size` the places are, row by row; false if they are none.
bool readTriangle(const at::Tensor& rows, const at::Tensor& columns, std::int64_t size, OpSpec* spec) {
  if (rows.dim() != 1 || columns.dim() != 1 || rows.numel() != columns.numel()) return false;
  const at::Tensor low = at::minimum(rows, columns), high = at::maximum(rows, columns);
  const bool diagonal = rows.numel() == size * (size + 1) / 2;
  const at::Tensor below = at::tril_indices(size, size, diagonal ? 0 : -1);
  const at::Tensor above = at::triu_indices(size, size, diagonal ? 0 : 1);
  const bool lower = at::equal(at::stack({high, low}), below);
  if (!lower && !at::equal(at::stack({low, high}), above)) return false;
  spec->kind = OpKind::kInteraction;
  spec->attributes["triangle"] = std::string(lower ? "lower" : "upper");
  if (diagonal) spec->attributes["diagonal"] = std::int64_t{1};
  return true;
}

// Elements of a list that all have these sizes behind the first axis; empty if one does not.
std::vector<Value*> elementsOf(Node* node, std::size_t rank, std::int64_t width) {
  Value* const list = node->input(0);
  if (!decidedElements(list)) return {};
  std::vector<Value*> elements = list->node()->inputs().vec();
  const auto fits = [&](const Value* element) {
    const auto sizes = knownSizes(element);
    return sizes && sizes->size() == rank && sizes->back() == width;
  };
  return std::all_of(elements.begin(), elements.end(), fits) ? elements : std::vector<Value*>();
}

// Takes [B,1,D] as the [B,D] that it was before.
Value* withoutAxis(Value* feature) {
  Node* const node = feature->node();
  if (knownSizes(feature)->size() != 3 || !isKind(node, "aten::unsqueeze")) return feature;
  return constantInt(node->input(1)) == 1 && knownSizes(node->input(0)) ? node->input(0) : feature;
}

// The features that were put together into `x` [B,N,D]; x itself where nothing else is known.
std::vector<Value*> featuresOf(Value* x) {
  const std::int64_t width = knownSizes(x)->back();
  Node* const node = x->node();
  std::vector<Value*> features;
  const auto joins = [](const Node* each, const char* kind) {
    return isKind(each, kind) && constantInt(each->input(1)) == 1;
  };
  if (joins(node, "aten::stack")) features = elementsOf(node, 2, width);
  if (joins(node, "aten::cat")) features = elementsOf(node, 3, width);
  const bool shaped = isKind(node, "aten::reshape") || isKind(node, "aten::view");
  if (shaped && joins(node->input(0)->node(), "aten::cat")) features = elementsOf(node->input(0)->node(), 2, width);
  if (features.empty()) return {x};
  for (Value*& feature : features) feature = withoutAxis(feature);
  return features;
}

// The concatenation of the first feature with the products, if nothing else reads these; null otherwise.
Node* denseConcat(const InteractionMatch& match) {
  const auto& uses = match.index->output()->uses();
  if (uses.size() != 1 || knownSizes(match.features[0])->size() != 2) return nullptr;
  Node* const list = uses[0].user;
  if (!isKind(list, "prim::ListConstruct") || list->inputs().size() != 2 || list->input(0) != match.features[0] ||
      !usedOnlyBy(match.index->output(), list) || list->output()->uses().size() != 1) {
    return nullptr;
  }
  Node* const concat = list->output()->uses()[0].user;
  if (!isKind(concat, "aten::cat") || concat->owningBlock() != match.index->owningBlock()) return nullptr;
  const auto axis = constantInt(concat->input(1));
  return axis == 1 || axis == -1 ? concat : nullptr;
}

std::optional<InteractionMatch> matchInteraction(PassContext& context, Node* index, Decline* why) {
  if (!isKind(index, "aten::index") || !isGram(index->input(0)->node())) return std::nullopt;
  InteractionMatch match;
  match.product = index->input(0)->node();
  match.index = index;
  Value* const x = match.product->input(0);
  const auto places = placesOf(index);
  if (!places) return std::nullopt;
  if (!readTriangle(places->first, places->second, (*knownSizes(x))[1], &match.spec)) {
    *why = {reasons::kUnsupportedAttribute, "Other products of pairs than those on one side of the diagonal are read."};
    return match;
  }
  match.spec.attributes["features"] = (*knownSizes(x))[1];  // a file has no sizes, where it is written out
  match.features = featuresOf(x);
  const auto isFloat = [](const Value* value) { return isFloat32(value); };
  if (!isFloat32(x) || !std::all_of(match.features.begin(), match.features.end(), isFloat)) {
    *why = {reasons::kUnsupportedDtype, "The features are not known to be float32."};
  } else if (!usedOnlyBy(match.product->output(), index)) {
    *why = {reasons::kOtherUses, "The products of pairs are read elsewhere."};
  } else if (index->owningBlock() != match.product->owningBlock()) {
    *why = {reasons::kControlFlow, "The products of pairs are computed in another block."};
  } else if (context.mayBeWritten(x) || std::any_of(match.features.begin(), match.features.end(),
                                                    [&](Value* value) { return context.mayBeWritten(value); })) {
    *why = {reasons::kAliased, "The features may be written to."};
  }
  match.concat = denseConcat(match);
  if (match.concat != nullptr) match.spec.attributes["dense"] = std::int64_t{1};
  return match;
}

void rewriteInteraction(Rewriter& rewriter, Node*, const InteractionMatch& match) {
  Node* const last = match.concat != nullptr ? match.concat : match.index;
  Node* list = rewriter.create("prim::ListConstruct", match.features, last);
  list->output()->setType(c10::ListType::ofTensors());
  Value* spec = rewriter.constant(match.spec.text(), last);
  Node* fused = rewriter.create("ipex_studio::interaction", {list->output(), spec}, last);
  std::vector<Node*> consumed{match.product, match.index};
  if (match.concat != nullptr) consumed.push_back(match.concat);
  rewriter.replace(consumed, last->output(), fused->output(), "fused the products of pairs of features");
}

bool fuseInteraction(torch::jit::Graph&, PassContext& context) {
  return rewriteMatches(context, context.nodes(kFuseInteraction.needs), matchInteraction, rewriteInteraction);
}

}  // namespace

const Pass kFuseInteraction = {"fuse-interaction",
                               "Fuses the products of all pairs of features with the choice of one triangle of them.",
                               &fuseInteraction,
                               {"aten::index"}};

}  // namespace ipex_studio
