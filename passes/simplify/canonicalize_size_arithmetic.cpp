// Turns sizes that tracing carried as tensors back into integers, which a plan can compute and a shape can use.
//
//   before  %t = prim::NumToTensor(%n)   %u = aten::floor_divide(%t, %two)   %i = aten::Int(%u)
//   after   %i = aten::floordiv(%n, 2)
//
// Takes NumToTensor and 0-dimensional int64 constants through add, sub, rsub (alpha 1), mul, remainder, floor_divide,
// div that rounds down, and div that rounds towards zero where a size is divided by a positive constant. What else uses
// the tensors keeps them.
// Declines: nothing with a remark: an aten::Int of data is no size.
// Runs before fold-constants, which turns arithmetic on constants into one. Numerics: exact.
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/graph/fused_op.h"
#include "core/graph/rewrite_matches.h"
#include "passes/pass_list.h"

namespace ipex_studio {
namespace {

using torch::jit::Node;
using torch::jit::Value;

// A size, which is not negative, by a positive constant: rounded towards zero is rounded down.
bool dividesSize(const Node* node) {
  const auto by = constantNumber(node->input(1));
  return by && *by > 0 && node->input(0)->node()->kind() == c10::prim::NumToTensor;
}

const char* integerKind(const Node* node) {
  static const std::unordered_map<std::string, const char*> kKinds = {{"aten::add", "aten::add"},
                                                                      {"aten::sub", "aten::sub"},
                                                                      {"aten::rsub", "aten::sub"},
                                                                      {"aten::mul", "aten::mul"},
                                                                      {"aten::remainder", "aten::remainder"},
                                                                      {"aten::floor_divide", "aten::floordiv"},
                                                                      {"aten::div", "aten::floordiv"}};
  const auto found = kKinds.find(node->kind().toQualString());
  if (found == kKinds.end() || node->inputs().size() < 2) return nullptr;
  if (node->kind() == c10::aten::div) {
    const auto rounding =
        node->inputs().size() == 3 ? torch::jit::constant_as<std::string>(node->input(2)) : c10::nullopt;
    return rounding && (*rounding == "floor" || (*rounding == "trunc" && dividesSize(node))) ? found->second : nullptr;
  }
  const bool scaled = node->inputs().size() > 2 && constantNumber(node->input(2)).value_or(0) != 1;
  return scaled ? nullptr : found->second;
}

std::optional<std::int64_t> integerTensor(const Value* value) {
  const auto tensor = constantTensor(value);
  if (!tensor || tensor->dim() != 0 || tensor->scalar_type() != at::kLong) return std::nullopt;
  return tensor->item<std::int64_t>();
}

enum class Source { kNone, kInteger, kNumber, kConstant, kArithmetic };

Source sourceOf(const Value* value) {
  if (value->type()->isSubtypeOf(*c10::IntType::get())) return Source::kInteger;
  if (integerTensor(value)) return Source::kConstant;
  const Node* node = value->node();
  if (node->kind() == c10::prim::NumToTensor && node->input()->type()->isSubtypeOf(*c10::IntType::get()))
    return Source::kNumber;
  return integerKind(node) != nullptr ? Source::kArithmetic : Source::kNone;
}

// The tensors behind `root`, operands before users; empty when one of them is no size.
std::vector<Value*> chainOf(Value* root) {
  std::vector<Value*> order;
  std::vector<Value*> open{root};
  std::unordered_map<Value*, bool> expanded;
  while (!open.empty()) {
    Value* value = open.back();
    const Source source = sourceOf(value);
    if (source == Source::kNone) return {};
    const auto [at, fresh] = expanded.emplace(value, false);
    if (fresh && source == Source::kArithmetic) {
      open.push_back(value->node()->input(0));
      open.push_back(value->node()->input(1));
      continue;
    }
    open.pop_back();
    if (!at->second) order.push_back(value);
    at->second = true;
  }
  return order;
}

Value* integerOf(Rewriter& rewriter, Value* value, const std::unordered_map<Value*, Value*>& known, Node* before) {
  switch (sourceOf(value)) {
    case Source::kInteger:
      return value;
    case Source::kNumber:
      return value->node()->input();
    case Source::kConstant:
      return rewriter.constant(*integerTensor(value), before);
    default:
      break;
  }
  Node* node = value->node();
  Value *left = known.at(node->input(0)), *right = known.at(node->input(1));
  if (node->kind() == c10::aten::rsub) std::swap(left, right);
  Node* made = rewriter.create(integerKind(node), {left, right}, before);
  made->output()->setType(c10::IntType::get());
  return made->output();
}

// The tensors behind a node that asks for the number in one.
std::optional<std::vector<Value*>> matchChain(PassContext&, Node* node, Decline*) {
  const std::string kind = node->kind().toQualString();
  const bool asks = (kind == "aten::Int" || kind == "aten::ScalarImplicit" || kind == "aten::IntImplicit") &&
                    node->inputs().size() == 1 && node->output()->type()->isSubtypeOf(*c10::NumberType::get()) &&
                    node->input()->type()->isSubtypeOf(*c10::TensorType::get());
  if (!asks) return std::nullopt;
  auto chain = chainOf(node->input());
  return chain.empty() ? std::nullopt : std::make_optional(std::move(chain));
}

void rewriteChain(Rewriter& rewriter, Node* node, const std::vector<Value*>& chain) {
  std::unordered_map<Value*, Value*> known;
  std::vector<Node*> consumed;
  for (Value* value : chain) {
    known[value] = integerOf(rewriter, value, known, node);
    if (sourceOf(value) == Source::kNumber || sourceOf(value) == Source::kArithmetic) consumed.push_back(value->node());
  }
  consumed.push_back(node);
  rewriter.replace(consumed, node->output(), known.at(node->input()), "a size is an integer again");
}

bool canonicalizeSizeArithmetic(torch::jit::Graph& graph, PassContext& context) {
  return rewriteMatches(context, context.nodes(kCanonicalizeSizeArithmetic.needs), matchChain, rewriteChain);
}

}  // namespace

const Pass kCanonicalizeSizeArithmetic = {"canonicalize-size-arithmetic",
                                          "Turn sizes that tracing carried as tensors back into integers.",
                                          &canonicalizeSizeArithmetic,
                                          {"aten::Int", "aten::ScalarImplicit", "aten::IntImplicit"}};

}  // namespace ipex_studio
