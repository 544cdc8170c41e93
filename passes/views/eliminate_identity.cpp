// Removes operators that give back what they got.
//   before  %a = mul(%x, 1)   %b = contiguous(%a)   %c = linear(%b, …)
//   after   %c = linear(%x, …)
// Numbers: x+0, x-0, x·1, x/1, x^1. Views: detach, alias, slice of everything, expand by -1, flatten of one dimension,
// to and type_as of the same dtype, casts of what is no optional. Copies: clone, zero padding by nothing, cat of one
// tensor, contiguous where every reader packs its operand anyway.
// Only what holds for every input shape: the sizes of the example run are not used. Its dtypes are, except for
// arguments of the model, which a caller may pass otherwise. Declines: value-may-be-aliased-or-written,
// value-is-graph-output (a copy that leaves the graph). Runs after fold-constants. Numerics: none changed (x+0 rounds
// -0 into 0, its elimination keeps it).
#include <algorithm>

#include "core/graph/fused_op.h"
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

enum class Identity { kNone, kView, kCopy };

// The kind first: to find a node's schema takes long.
bool hasSchema(const Node* node, c10::Symbol kind, const char* overload) {
  if (node->kind() != kind) return false;
  const auto* schema = node->maybeSchema();
  return schema != nullptr && schema->overload_name() == overload;
}

// The dtype the value has in every run that makes sense; not that of an argument, which the caller chooses.
std::optional<at::ScalarType> certainDtype(const Value* value) {
  if (value->node()->kind() == torch::jit::prim::Param) return std::nullopt;
  return knownDtype(value);
}

// A number or a tensor without dimensions, which does not change the other operand's shape.
std::optional<double> plainNumber(const Value* value) {
  const auto tensor = constantTensor(value);
  if (tensor && tensor->dim() != 0) return std::nullopt;
  return constantNumber(value);
}

// True if arithmetic with this number keeps the dtype of `x`.
bool keepsDtype(const Node* node, const Value* x, const Value* number) {
  const auto dtype = certainDtype(x);
  if (!dtype) return false;
  if (c10::isFloatingType(*dtype)) return true;
  const auto constant = torch::jit::toIValue(number);
  return c10::isIntegralType(*dtype, false) && constant && constant->isInt() && node->kind() != aten::div;
}

Identity arithmetic(const Node* node) {
  const auto kind = node->kind();
  const std::size_t inputs = node->inputs().size();
  const bool sum = (kind == aten::add || kind == aten::sub) && inputs == 3;
  const bool product = (kind == aten::mul || kind == aten::div || kind == aten::pow) && inputs == 2;
  if (!sum && !product) return Identity::kNone;
  const auto number = plainNumber(node->input(1));
  if (number != (sum ? 0.0 : 1.0) || !keepsDtype(node, node->input(0), node->input(1))) return Identity::kNone;
  return Identity::kCopy;
}

Identity sameDtype(const Node* node) {
  if (node->kind() != aten::to && node->kind() != aten::type_as) return Identity::kNone;
  const auto dtype = certainDtype(node->input(0));
  if (!dtype) return Identity::kNone;
  bool same = false;
  if (hasSchema(node, aten::to, "dtype")) {
    same = constantInt(node->input(1)) == static_cast<std::int64_t>(*dtype) && constantBool(node->input(3)) == false &&
           isNone(node->input(4));
  } else if (hasSchema(node, aten::type_as, "")) {
    same = knownDtype(node->input(1)) == dtype;
  }
  return same ? Identity::kView : Identity::kNone;
}

Identity view(const Node* node) {
  const auto kind = node->kind();
  if (kind == aten::detach || kind == aten::alias) return Identity::kView;
  if (hasSchema(node, aten::slice, "Tensor")) {
    const auto begin = sliceBound(node->input(2), 0), end = sliceBound(node->input(3), INT64_MAX);
    return begin == 0 && end == INT64_MAX && constantInt(node->input(4)) == 1 ? Identity::kView : Identity::kNone;
  }
  if (hasSchema(node, aten::expand, "")) {
    const auto sizes = knownSizes(node->input(0));
    const auto to = constantInts(node->input(1));
    const bool keeps = to && sizes && to->size() == sizes->size() &&
                       std::all_of(to->begin(), to->end(), [](auto size) { return size == -1; });
    return keeps ? Identity::kView : Identity::kNone;
  }
  if (hasSchema(node, aten::flatten, "using_ints")) {
    const auto sizes = knownSizes(node->input(0));
    const auto first = constantInt(node->input(1));
    const auto last = constantInt(node->input(2));
    if (!sizes || sizes->empty() || !first || !last) return Identity::kNone;
    const auto rank = static_cast<std::int64_t>(sizes->size());
    return (*first + rank) % rank == (*last + rank) % rank ? Identity::kView : Identity::kNone;
  }
  return sameDtype(node);
}

// Readers that give the same result, in the same layout, whatever the strides of their operand.
bool packsOperand(const Node* node) {
  const auto kind = node->kind();
  return kind == aten::linear || kind == aten::matmul || kind == aten::bmm || kind == aten::mm || kind == aten::addmm ||
         kind == aten::layer_norm || kind == aten::embedding || kind == aten::contiguous;
}

Identity copy(const Node* node) {
  const auto kind = node->kind();
  if (kind == aten::clone) return Identity::kCopy;
  if (kind == aten::contiguous) {
    const auto& uses = node->output()->uses();
    const bool packed = std::all_of(uses.begin(), uses.end(), [](const auto& use) { return packsOperand(use.user); });
    return packed && constantInt(node->input(1)) == static_cast<std::int64_t>(at::MemoryFormat::Contiguous)
               ? Identity::kCopy
               : Identity::kNone;
  }
  if (kind == aten::constant_pad_nd || kind == aten::pad) {
    const auto sides = constantInts(node->input(1));
    const bool nothing = sides && std::all_of(sides->begin(), sides->end(), [](auto side) { return side == 0; });
    return nothing ? Identity::kCopy : Identity::kNone;
  }
  return Identity::kNone;
}

// All that the functions above ask for.
const std::vector<const char*>& kindsOfIdentities() {
  static const std::vector<const char*> kKinds = {
      "aten::add",    "aten::sub",     "aten::mul",           "aten::div",        "aten::pow",
      "aten::detach", "aten::alias",   "aten::slice",         "aten::expand",     "aten::flatten",
      "aten::to",     "aten::type_as", "aten::clone",         "aten::contiguous", "aten::constant_pad_nd",
      "aten::pad",    "aten::cat",     "prim::unchecked_cast"};
  return kKinds;
}

// The operand that the node hands on unchanged, and how; null if it computes something.
Value* identityOf(Node* node, Identity* how) {
  if (node->outputs().size() != 1 || node->inputs().empty()) return nullptr;
  if (node->kind() == aten::cat && node->input(0)->node()->kind() == torch::jit::prim::ListConstruct) {
    Node* list = node->input(0)->node();
    *how = Identity::kCopy;
    // Another user of the list may have appended to it.
    return list->inputs().size() == 1 && list->output()->uses().size() == 1 ? list->input(0) : nullptr;
  }
  if (node->input(0)->type()->kind() != c10::TypeKind::TensorType) return nullptr;
  if (node->kind() == torch::jit::prim::unchecked_cast) {
    // A branch for arguments of another type casts to that, and is never taken.
    *how = Identity::kView;
    return node->output()->type()->kind() == c10::TypeKind::TensorType ? node->input(0) : nullptr;
  }
  for (const auto& kind : {&arithmetic, &view, &copy}) {
    *how = kind(node);
    if (*how != Identity::kNone) return node->input(0);
  }
  return nullptr;
}

std::optional<Value*> matchIdentity(PassContext& context, Node* node, Decline* why) {
  Identity how = Identity::kNone;
  Value* same = identityOf(node, &how);
  if (same == nullptr) return std::nullopt;
  *why = checkSameValue(context, node->output(), same, how == Identity::kView);
  return same;
}

void rewriteIdentity(Rewriter& rewriter, Node* node, Value* same) {
  rewriter.replace({node}, node->output(), same,
                   std::string("removed ") + node->kind().toUnqualString() + " that changes nothing");
}

bool eliminateIdentity(Graph& graph, PassContext& context) {
  return rewriteMatches(context, context.nodes(kindsOfIdentities()), matchIdentity, rewriteIdentity);
}

}  // namespace

const Pass kEliminateIdentity = {"eliminate-identity", "Removes operators that give back what they got.",
                                 &eliminateIdentity};

}  // namespace ipex_studio
