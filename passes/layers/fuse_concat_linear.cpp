// Joins linears that share their source into one with slices of its result.
//   before  %q = linear(%x, Wq, bq)   %k = linear(%x, Wk, bk)   %v = linear(%x, Wv, bv)
//   after   %y = linear(%x, [Wq; Wk; Wv], [bq; bk; bv])   %q = slice(%y, -1, 0, 768, 1)   %k = slice(%y, -1, 768, 1536,
//   1)  …
// The slices are strided views. So every reader, also through further views, must take strided tensors; `view` among
// them becomes `reshape`, which is the same where a view is possible and copies elsewhere. Declines:
// weights-not-constant, mixed-dtype, unsupported-dtype, not-profitable (some with, some without bias),
// value-is-graph-output (the caller would keep the joined tensor alive), unsupported-operator (a reader that may need
// contiguous memory), value-may-be-aliased-or-written.
// Runs after fuse-activation and its kin: what carries post-operations by then is left alone.
// Numerics: none but the order of sums that another matrix width selects.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "core/graph/rewrite_matches.h"
#include "passes/match/post_op_fusion.h"
#include "passes/pass_list.h"

namespace ipex_studio {

using torch::jit::Node;
using torch::jit::Value;

namespace {

const std::unordered_set<std::string>& views() {
  static const std::unordered_set<std::string> kKinds = {
      "aten::view",      "aten::transpose", "aten::permute", "aten::slice",   "aten::select",
      "aten::unsqueeze", "aten::squeeze",   "aten::t",       "aten::expand",  "aten::chunk",
      "aten::split",     "aten::narrow",    "aten::detach",  "aten::reshape", "aten::flatten"};
  return kKinds;
}

// Operators that read strided tensors and return new memory.
const std::unordered_set<std::string>& readers() {
  static const std::unordered_set<std::string> kKinds = {"aten::linear",
                                                         "aten::matmul",
                                                         "aten::bmm",
                                                         "aten::mm",
                                                         "aten::softmax",
                                                         "aten::log_softmax",
                                                         "aten::layer_norm",
                                                         "aten::cat",
                                                         "aten::stack",
                                                         "aten::contiguous",
                                                         "aten::sum",
                                                         "aten::mean",
                                                         "aten::size",
                                                         "aten::dim",
                                                         "aten::masked_fill",
                                                         "aten::scaled_dot_product_attention",
                                                         "ipex_studio::convolution",
                                                         "ipex_studio::deconvolution",
                                                         "ipex_studio::linear",
                                                         "ipex_studio::matmul",
                                                         "ipex_studio::pointwise",
                                                         "ipex_studio::softmax",
                                                         "ipex_studio::attention",
                                                         "ipex_studio::layer_norm",
                                                         "ipex_studio::add_layer_norm"};
  return kKinds;
}

// True if all readers of `value`, also through views, take strided tensors. Collects `view` nodes on the way.
bool readStrided(const Value* value, std::vector<Node*>* found, Decline* decline) {
  for (const auto& use : value->uses()) {
    Node* user = use.user;
    const std::string kind = user->kind().toQualString();
    if (kind == "prim::Return") {
      *decline = {reasons::kGraphOutput, "A linear of this source is itself a result of the model."};
      return false;
    }
    const bool is_reader = readers().count(kind) != 0 || readElementwise(user, use.offset < 2 ? use.offset : 0);
    if (is_reader) continue;
    const bool passes_on = views().count(kind) != 0 || kind == "prim::ListUnpack" || kind == "prim::ListConstruct";
    if (!passes_on) {
      *decline = {reasons::kUnsupportedOperator, fmt::format("{} may need contiguous memory.", kind)};
      return false;
    }
    if (kind == "aten::view") found->push_back(user);
    for (const Value* output : user->outputs()) {
      if (!readStrided(output, found, decline)) return false;
    }
  }
  return true;
}

struct Group {
  std::vector<Node*> linears;  // in order
  std::vector<Node*> views;    // to become reshapes
};

bool isLinear(const Node* node) {
  return std::string("aten::linear") == node->kind().toQualString() && node->inputs().size() == 3;
}

// The linears of a source in one block.
std::vector<Node*> linearsOf(const Node* first) {
  std::vector<Node*> found;
  for (const auto& use : first->input(0)->uses()) {
    if (isLinear(use.user) && use.offset == 0 && use.user->owningBlock() == first->owningBlock())
      found.push_back(use.user);
  }
  std::sort(found.begin(), found.end(), [](const Node* a, const Node* b) { return a->isBefore(b); });
  return found;
}

Decline whyNot(PassContext& context, Group* group) {
  const Node* first = group->linears.front();
  for (const Node* linear : group->linears) {
    const auto weights = constantTensor(linear->input(1));
    const auto bias = constantTensor(linear->input(2));
    if (!weights || (!bias && !isNone(linear->input(2)))) {
      return {reasons::kWeightsNotConstant, "Weights of linears with one source are computed while the model runs."};
    }
    if (isNone(linear->input(2)) != isNone(first->input(2))) {
      return {reasons::kNotProfitable, "Of the linears with one source only some have a bias."};
    }
    if (weights->scalar_type() != at::kFloat) return {reasons::kUnsupportedDtype, "The weights are not float32."};
    if (weights->dim() != 2 || (bias && (bias->dim() != 1 || bias->size(0) != weights->size(0)))) {
      return {reasons::kShapeMismatch, "Weights and bias of a linear do not fit each other."};
    }
    if (bias && bias->scalar_type() != at::kFloat) return {reasons::kMixedDtype, "The bias is not float32."};
    Decline decline;
    if (!readStrided(linear->output(), &group->views, &decline)) return decline;
    if (context.mayBeWritten(linear->output()))
      return {reasons::kAliased, "A result of these linears may be written to."};
  }
  if (context.mayBeWritten(first->input(0)))
    return {reasons::kAliased, "The source of these linears may be written to."};
  return {};
}

Value* joined(Rewriter& rewriter, const Group& group, std::size_t operand) {
  Node* first = group.linears.front();
  if (isNone(first->input(operand))) return first->input(operand);
  std::vector<at::Tensor> parts;
  for (const Node* linear : group.linears) parts.push_back(constantTensor(linear->input(operand))->detach());
  return rewriter.constant(at::cat(parts), first);
}

void rewriteGroup(Rewriter& rewriter, Node* first, const Group& group) {
  Value* weights = joined(rewriter, group, 1);
  Value* bias = joined(rewriter, group, 2);
  Node* linear = rewriter.create("aten::linear", {first->input(0), weights, bias}, first);
  Value* axis = rewriter.constant(-1, first);
  Value* step = rewriter.constant(1, first);
  Value* begin = rewriter.constant(0, first);
  std::int64_t at = 0;
  std::vector<Value*> from;
  std::vector<Value*> to;
  for (const Node* part : group.linears) {
    at += constantTensor(part->input(1))->size(0);
    Value* end = rewriter.constant(at, first);
    from.push_back(const_cast<Node*>(part)->output());
    to.push_back(rewriter.create("aten::slice", {linear->output(), axis, begin, end, step}, first)->output());
    begin = end;
  }
  if (const auto sizes = knownSizes(from.front())) {
    std::vector<std::int64_t> joined_sizes = *sizes;
    joined_sizes.back() = at;
    linear->output()->setType(c10::TensorType::createContiguous(at::kFloat, at::kCPU, joined_sizes));
  }
  std::vector<Node*> consumed = group.linears;
  for (Node* view : group.views) {
    Node* reshape = rewriter.create("aten::reshape", view->inputs(), view);
    consumed.push_back(view);
    from.push_back(view->output());
    to.push_back(reshape->output());
  }
  rewriter.replaceAll(consumed, from, to, fmt::format("joined {} linears of one source", group.linears.size()));
}

bool fuseConcatLinear(torch::jit::Graph& graph, PassContext& context) {
  std::unordered_set<const Node*> seen;
  const auto match = [&](PassContext&, Node* node, Decline* why) -> std::optional<Group> {
    if (!isLinear(node) || seen.count(node) != 0) return std::nullopt;
    Group group{linearsOf(node), {}};
    seen.insert(group.linears.begin(), group.linears.end());
    if (group.linears.size() < 2) return std::nullopt;
    *why = whyNot(context, &group);
    return group;
  };
  return rewriteMatches(context, context.nodes(kFuseConcatLinear.needs), match, rewriteGroup);
}

}  // namespace

const Pass kFuseConcatLinear = {
    "fuse-concat-linear", "Joins linears that share their source.", &fuseConcatLinear, {"aten::linear"}};

}  // namespace ipex_studio
