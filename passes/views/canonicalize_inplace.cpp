// Turns in-place operators into their out-of-place form, so that every later pattern is written once.
//   before  %y = convolution(%x, …)   %r = relu_(%y)   %s = add(%y, %r, 1)
//   after   %y = convolution(%x, …)   %r = relu(%y)    %s = add(%r, %r, 1)
// Aliases become what they are another name of. Writes into slices become slice_scatter and select_scatter
// (slice_writes.h), a number written by a mask masked_fill, values written by a mask or to places index_put. The
// written tensor must be fresh memory of its producer, in the same block, or its last name, and no earlier use may have
// made another name for that memory that is read later. Readers before the write keep the old value, readers after it
// get the new one; nothing moves.
// Declines: value-may-be-aliased-or-written (inputs, constants, views, lists), control-flow, mixed-dtype (the in-place
// form keeps the dtype, the other may widen it), unsupported-operator (copy_ of wholes, other index_put_ and what else
// writes parts), not-profitable (very many writes into slices of one tensor, scatters that stay with the interpreter).
// Runs after eliminate-dropout and before all other canonicalizing passes. Numerics: none changed.
#include <algorithm>
#include <unordered_set>

#include "core/graph/fused_op.h"
#include "core/graph/rewrite_matches.h"
#include "passes/match/aliasing.h"
#include "passes/pass_list.h"
#include "passes/views/slice_writes.h"

namespace ipex_studio {

using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;

namespace {

// name_ has the same arguments as name and differs only in where the result goes; zero_ is a fill.
const std::unordered_set<std::string>& plainOperators() {
  static const std::unordered_set<std::string> names = {
      "abs_",       "acos_",      "add_",         "addcdiv_",     "addcmul_",
      "asin_",      "atan_",      "ceil_",        "celu_",        "clamp_",
      "clamp_max_", "clamp_min_", "clip_",        "cos_",         "cosh_",
      "div_",       "elu_",       "erf_",         "erfc_",        "exp_",
      "expm1_",     "fill_",      "floor_",       "gelu_",        "hardsigmoid_",
      "hardswish_", "hardtanh_",  "index_add_",   "leaky_relu_",  "log_",
      "log1p_",     "log2_",      "masked_fill_", "mish_",        "mul_",
      "neg_",       "pow_",       "reciprocal_",  "relu_",        "relu6_",
      "round_",     "rsqrt_",     "scatter_",     "scatter_add_", "scatter_reduce_",
      "selu_",      "sigmoid_",   "silu_",        "sin_",         "sinh_",
      "sqrt_",      "square_",    "sub_",         "tan_",         "tanh_",
      "threshold_", "trunc_",     "zero_"};
  return names;
}

// True if the out-of-place form of an operator that writes exists.
bool hasPlainForm(const Node* node) {
  return plainOperators().count(node->kind().toUnqualString()) != 0 || fillsByMask(node) || writesByMask(node) ||
         writesPlaces(node);
}

// A piece of a tensor that nothing but aten::unsafe_chunk and its kin reads: pieces lie apart, and each has one name.
bool isOwnPiece(const Value* value) {
  const Node* unpack = value->node();
  if (unpack->kind() != torch::jit::prim::ListUnpack || unpack->input()->uses().size() != 1) return false;
  const Node* source = unpack->input()->node();
  const std::string kind = source->kind().toQualString();
  return kind.rfind("aten::unsafe_", 0) == 0 && isFresh(source->input(0)) && source->input(0)->uses().size() == 1 &&
         source->owningBlock() == unpack->owningBlock();
}

// A tensor without dimensions counts as a number beside one that has some.
bool isNumber(const Value* operand, const Value* written) {
  const auto sizes = knownSizes(operand), result = knownSizes(written);
  return sizes && result && sizes->empty() && !result->empty();
}

// Would the out-of-place form have the dtype of the written tensor?
bool keepsDtype(const Node* node) {
  std::optional<at::ScalarType> written;
  const std::string name = node->kind().toUnqualString();
  for (std::size_t i = 1; i < node->inputs().size(); ++i) {
    const Value* operand = node->input(i);
    if (operand->type()->kind() != c10::TypeKind::TensorType || isNone(operand)) continue;
    if (name == "masked_fill_" || name == "index_put_") continue;
    const auto dtype = knownDtype(operand);
    written = knownDtype(node->input(0));
    if (dtype && written && isNumber(operand, node->input(0)) && c10::isFloatingType(*written) &&
        !c10::isComplexType(*dtype))
      continue;
    if (!dtype || !written || c10::promoteTypes(*written, *dtype) != *written) return false;
  }
  return true;
}

// True for a scatter that plans do not know: out of place it would cost a copy and win nothing.
bool scattersUnplanned(const Node* node) {
  const std::string name = node->kind().toUnqualString();
  const bool combines = name == "scatter_add_" || name == "index_add_" || name == "scatter_reduce_" ||
                        (name == "scatter_" && node->inputs().size() > 4);
  const auto reduction = name == "scatter_reduce_" ? torch::jit::toIValue(node->input(4)) : c10::nullopt;
  const bool averages = reduction && reduction->isString() && reduction->toStringRef() == "mean";
  return combines && (averages || knownDtype(node->input(0)) != at::kFloat);
}

Decline declineInplace(const Node* node) {
  const std::string name = node->kind().toUnqualString();
  const Value* written = node->input(0);
  if (scattersUnplanned(node)) {
    return {reasons::kNotProfitable,
            name + " in this form stays with the interpreter, where it needs no copy in place."};
  }
  if (!hasPlainForm(node) || node->outputs().size() != 1) {
    return {reasons::kUnsupportedOperator, name + " writes into a tensor in a way that has no out-of-place form here."};
  }
  if (!isFresh(written) && !isOwnPiece(written) && !isLastNameOfFresh(written, node)) {
    return {reasons::kAliased, name + " writes to an input, a constant or a view; others may see that."};
  }
  if (written->node()->owningBlock() != node->owningBlock()) {
    return {reasons::kControlFlow, name + " is in another block than what it writes to."};
  }
  for (const auto& use : written->uses()) {
    if (use.user == node || use.user->isAfter(node) || !namesOperand(use.user, written)) continue;
    const bool harmless = mayBeView(use.user) && isReadBefore(use.user->output(), node);
    if (!harmless) {
      return {reasons::kAliased, name + " writes to memory that has a second name."};
    }
  }
  if (!keepsDtype(node)) {
    return {reasons::kMixedDtype,
            name + " may have operands of several dtypes; out of place the result could be wider."};
  }
  return {};
}

bool writesToTensor(const Node* node) {
  const auto* schema = node->kind().is_aten() ? node->maybeSchema() : nullptr;
  return schema != nullptr && schema->is_mutable() && !node->inputs().empty() &&
         node->input(0)->type()->kind() == c10::TypeKind::TensorType;
}

bool writesIntoSlice(const Node* node) { return SliceWrites::isSliceWrite(node) && node->outputs().size() == 1; }

void rewriteInplace(Rewriter& rewriter, Node* node) {
  Node* plain = createPlain(rewriter, node);
  plain->output()->setType(node->output()->type());
  rewriter.replaceUsesAfter(node, node->input(0), plain->output());
  rewriter.replace({node}, node->output(), plain->output(), "made out of place");
}

// True if a reader gives the tensor itself, and no other name of its memory, another form.
bool isReshapedInPlace(const Value* value) {
  static const std::unordered_set<std::string> kinds = {
      "aten::resize_", "aten::resize_as_", "aten::squeeze_",  "aten::unsqueeze_",  "aten::transpose_", "aten::t_",
      "aten::set_",    "aten::swapaxes_",  "aten::swapdims_", "aten::as_strided_", "aten::detach_"};
  return std::any_of(value->uses().begin(), value->uses().end(),
                     [](const torch::jit::Use& use) { return kinds.count(use.user->kind().toQualString()) != 0; });
}

// An alias is its operand by another name, so a write to it is one to the operand. Arguments keep theirs, which callers
// tell apart.
bool dropAliases(PassContext& context) {
  bool changed = false;
  for (Node* node : context.nodes({"aten::alias"})) {
    if (!context.rewriter.alive(node) || node->input(0)->node()->kind() == c10::prim::Param) continue;
    if (isReshapedInPlace(node->input(0)) || isReshapedInPlace(node->output())) continue;
    if (!context.rewriter.permit(node)) break;
    context.rewriter.replace({node}, node->output(), node->input(0), "is its operand by another name");
    changed = true;
  }
  return changed;
}

bool canonicalizeInplace(Graph& graph, PassContext& context) {
  const bool fewer_names = dropAliases(context);
  SliceWrites slices(context.rewriter);
  const auto match = [&](PassContext&, Node* node, Decline* why) {
    if (!writesToTensor(node)) return false;
    const bool plain_form = hasPlainForm(node) && keepsDtype(node);
    *why = writesIntoSlice(node) ? slices.decline(node, plain_form) : declineInplace(node);
    return true;
  };
  const auto rewrite = [&](Rewriter& rewriter, Node* node) {
    if (writesIntoSlice(node)) {
      slices.rewrite(node);
    } else {
      rewriteInplace(rewriter, node);
    }
  };
  return rewriteMatches(context, context.nodesThatMayWrite(), match, rewrite) || fewer_names;
}

}  // namespace

const Pass kCanonicalizeInplace = {"canonicalize-inplace", "Turns in-place operators into their out-of-place form.",
                                   &canonicalizeInplace};

}  // namespace ipex_studio
