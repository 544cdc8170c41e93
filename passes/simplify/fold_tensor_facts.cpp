// Answers questions about tensors that the example run has answered: their dtype, whether it is of floats, where they
// live, whether they are nested or want gradients, their rank, whether one value is another or None, and whether two
// lists are the same sizes, or a size is a number that it is no multiple of. What fast paths of encoders made has the
// dtype and rank of what they got.
//   before  %d = prim::dtype(%x)   %n = prim::is_nested(%x)   %s = aten::__is__(%x, %x)   %y = prim::If(%s) …
//   after   6, false, true         which fold-constants decides
// Scripted modules of PyTorch ask these before they compute anything. Plans take the example's dtype and rank alone,
// and dense tensors of the CPU; they compute no gradients.
// Declines: nothing with a remark: what the example did not reach may never be asked.
// Runs before fold-constants, which takes the branch that the answer leaves. Numerics: none.
#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/graph/node_facts.h"
#include "core/torch/type_answers.h"
#include "passes/match/aliasing.h"
#include "passes/match/nested_values.h"
#include "passes/pass_list.h"

namespace ipex_studio {
namespace {

using torch::jit::IValue;
using torch::jit::Node;
using torch::jit::Value;

bool isTensor(const Value* value) { return value->type()->kind() == c10::TypeKind::TensorType; }

// aten::size(x, axis) of the same tensor and axis, or one value.
bool isSameSize(const Value* a, const Value* b) {
  const Node *left = a->node(), *right = b->node();
  if (a == b) return true;
  if (!isKind(left, "aten::size") || !isKind(right, "aten::size") || left->inputs().size() != 2 ||
      right->inputs().size() != 2)
    return false;
  const auto axis = constantInt(left->input(1));
  return left->input(0) == right->input(0) && axis && axis == constantInt(right->input(1));
}

// True for a list that is compared and named in messages, and so never written to.
bool isOnlyAskedAbout(const Value* list) {
  static const std::unordered_set<std::string> kReaders = {"aten::eq", "aten::ne", "aten::format", "aten::len"};
  return std::all_of(list->uses().begin(), list->uses().end(),
                     [](const torch::jit::Use& use) { return kReaders.count(use.user->kind().toQualString()) != 0; });
}

// True for lists of integers with the same entries, which nothing writes to.
bool areSameSizes(const Value* a, const Value* b) {
  if (a->type()->kind() != c10::TypeKind::ListType || b->type()->kind() != c10::TypeKind::ListType) return false;
  const Node *left = a->node(), *right = b->node();
  if (!isKind(left, "prim::ListConstruct") || !isKind(right, "prim::ListConstruct") ||
      left->inputs().size() != right->inputs().size())
    return false;
  if (!isOnlyAskedAbout(a) || !isOnlyAskedAbout(b)) return false;
  return std::equal(left->inputs().begin(), left->inputs().end(), right->inputs().begin(), &isSameSize);
}

constexpr int kMaxReshapes = 8;  // followed from a size

// A constant that divides the integer whatever the inputs are; 1 where none is known.
std::int64_t divisorOf(const Value* integer, int depth);

// The same of a size. Sizes given to a reshape are those of its result unless they are -1, which no multiple of a
// greater number is; what is broadcast to a size that is not 1 has that size.
std::int64_t divisorOfSize(const Value* x, std::size_t axis, int depth) {
  const Node* node = x->node();
  const auto sizes = knownSizes(x);
  if (!sizes || depth == 0) return 1;
  if (node->kind() == c10::prim::unchecked_cast) return divisorOfSize(node->input(0), axis, depth - 1);
  if (isReshape(node)) {
    const auto entries = decidedElements(node->input(1));
    if (!entries || axis >= entries->size() || constantInt((*entries)[axis])) return 1;
    return divisorOf((*entries)[axis], depth - 1);
  }
  if (!isKind(node, "aten::add") && !isKind(node, "aten::logical_or")) return 1;
  for (const Value* operand : node->inputs().slice(0, 2)) {
    const auto shape = isTensor(operand) ? knownSizes(operand) : std::optional<std::vector<std::int64_t>>();
    if (!shape || shape->size() != sizes->size()) continue;
    const std::int64_t divisor = divisorOfSize(operand, axis, depth - 1);
    if (divisor > 1) return divisor;
  }
  return 1;
}

std::int64_t divisorOf(const Value* integer, int depth) {
  const Node* node = integer->node();
  if (isKind(node, "aten::mul")) {
    for (const Value* factor : node->inputs()) {
      if (const auto known = constantInt(factor)) return std::max<std::int64_t>(1, std::abs(*known));
    }
  }
  if (!isKind(node, "aten::size") || node->inputs().size() != 2) return 1;
  const auto axis = constantInt(node->input(1));
  const auto sizes = knownSizes(node->input(0));
  if (!axis || !sizes) return 1;
  const std::int64_t at = *axis < 0 ? *axis + static_cast<std::int64_t>(sizes->size()) : *axis;
  return at < 0 ? 1 : divisorOfSize(node->input(0), static_cast<std::size_t>(at), depth);
}

// True if one side is a constant that the other is certainly no multiple of.
bool areOtherIntegers(const Value* a, const Value* b) {
  const auto number = constantInt(b);
  return number && a->type()->kind() == c10::TypeKind::IntType && !constantInt(a) &&
         *number % divisorOf(a, kMaxReshapes) != 0;
}

// Tensors that nothing else names when they are made; a transposition of one axis with itself is none.
bool isNewTensor(const Value* value) {
  static const std::vector<const char*> kViews = {"aten::permute", "aten::select", "aten::slice", "aten::unsqueeze"};
  const Node* node = value->node();
  if (isFresh(value) || isReshape(node) ||
      std::any_of(kViews.begin(), kViews.end(), [&](const char* kind) { return isKind(node, kind); }))
    return true;
  if (!isKind(node, "aten::transpose")) return false;
  const auto a = constantInt(node->input(1)), b = constantInt(node->input(2));
  return a && b && *a != *b && (*a < 0) == (*b < 0);
}

// True if the two are certainly different tensors: at least one is made here. Two that came from outside may be the
// same, since a caller may give one twice.
bool areOtherTensors(const Value* a, const Value* b, PassContext& context) {
  if (!isTensor(a) || !isTensor(b)) return false;
  const auto isArgument = [](const Value* value) { return value->node() == value->owningGraph()->param_node(); };
  if (isNewTensor(a) && (isNewTensor(b) || isArgument(b))) return true;
  if (isNewTensor(b) && isArgument(a)) return true;
  return (isFresh(a) || isFresh(b)) && !context.aliases().mayAlias(a, b);
}

// nullopt: not one of these questions, or not answered.
std::optional<IValue> answerOf(const Node* node, PassContext& context) {
  const std::string kind = node->kind().toQualString();
  if (kind == "aten::__is__" || kind == "aten::__isnot__") {
    const Value *a = node->input(0), *b = node->input(1);
    if ((isTensor(a) && isNone(b)) || (isNone(a) && isTensor(b))) return IValue(kind == "aten::__isnot__");
    if (a == b) return IValue(kind == "aten::__is__");
    return areOtherTensors(a, b, context) ? std::optional<IValue>(kind == "aten::__isnot__") : std::nullopt;
  }
  if (kind == "aten::eq" || kind == "aten::ne") {
    const Value *a = node->input(0), *b = node->input(1);
    if (areOtherIntegers(a, b) || areOtherIntegers(b, a)) return IValue(kind == "aten::ne");
    return areSameSizes(a, b) ? std::optional<IValue>(kind == "aten::eq") : std::nullopt;
  }
  if (kind == "prim::is_nested" && isNested(node->input(0))) return IValue(true);
  const Value* value = sourceOfNested(node->input(0));
  if (const auto tensor = constantTensor(value)) return answerByType(node, *c10::TensorType::create(*tensor));
  const auto* type = value->type()->castRaw<c10::TensorType>();
  return type != nullptr ? answerByType(node, *type) : std::nullopt;
}

const std::vector<const char*>& questions() {
  static const std::vector<const char*> kinds = [] {
    std::vector<const char*> all = tensorQuestions();
    all.insert(all.end(), {"aten::__is__", "aten::__isnot__", "aten::eq", "aten::ne"});
    return all;
  }();
  return kinds;
}

bool foldTensorFacts(torch::jit::Graph& graph, PassContext& context) {
  // All on one alias analysis, before anything changes.
  std::vector<std::pair<Node*, IValue>> answers;
  for (Node* node : context.nodes(questions())) {
    if (node->outputs().size() != 1 || node->inputs().empty()) continue;
    if (auto answer = answerOf(node, context)) answers.emplace_back(node, *std::move(answer));
  }
  bool changed = false;
  for (const auto& [node, answer] : answers) {
    if (!context.rewriter.alive(node)) continue;
    if (!context.rewriter.permit(node)) continue;
    context.rewriter.replace({node}, node->output(), context.rewriter.constant(answer, node),
                             "answered by the example run");
    changed = true;
  }
  return changed;
}

}  // namespace

const Pass kFoldTensorFacts = {"fold-tensor-facts",
                               "Answers questions about tensors that the example run has answered.", &foldTensorFacts,
                               questions()};

}  // namespace ipex_studio
