// Turns sizes that tracing carried as tensors back into integers, which a plan can compute and a shape can use.
//
//   before  %t = prim::NumToTensor(%n)   %u = aten::floor_divide(%t, %two)   %i = aten::Int(%u)
//   after   %i = aten::floordiv(%n, 2)
//
// Takes NumToTensor and 0-dimensional integer constants through add, sub, rsub (alpha 1), mul, remainder, floor_divide,
// div that rounds down, div that rounds towards zero where a size is divided by a positive constant, ceil and floor of
// a quotient by a positive constant, and clamp. What else uses the tensors keeps them.
// Declines: nothing with a remark: an aten::Int of data is no size.
// Runs before fold-constants, which turns arithmetic on constants into one. Numerics: exact; quotients that the model
// rounds in FP32 equal those of integers as long as sizes are below 2^24, where FP32 holds every integer.
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
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

// A constant without a fraction: a number, or a 0-dimensional tensor.
std::optional<std::int64_t> integerConstant(const Value* value) {
  if (const auto tensor = constantTensor(value)) {
    if (tensor->dim() != 0) return std::nullopt;
    if (tensor->scalar_type() == at::kLong) return tensor->item<std::int64_t>();
  }
  constexpr double kExact = 1 << 24;  // up to here FP32 holds every integer
  const auto number = constantNumber(value);
  if (!number || !(std::abs(*number) <= kExact) || *number != std::floor(*number)) return std::nullopt;
  return static_cast<std::int64_t>(*number);
}

bool isTrueQuotient(const Node* node) { return node->kind() == c10::aten::div && node->inputs().size() == 2; }

// A node that rounds up or down what a size was divided by; its other operands are sizes already.
bool roundsQuotient(const Node* node) {
  if (node->kind() != c10::aten::ceil && node->kind() != c10::aten::floor) return false;
  const Node* quotient = node->input()->node();
  return isTrueQuotient(quotient) && integerConstant(quotient->input(1)).value_or(0) > 0;
}

bool isInteger(const Value* value) { return value->type()->isSubtypeOf(*c10::IntType::get()); }

bool clampsByIntegers(const Node* node) {
  if (node->kind() != c10::aten::clamp || node->inputs().size() != 3) return false;
  const auto bound = [](const Value* value) { return isNone(value) || integerConstant(value); };
  return bound(node->input(1)) && bound(node->input(2));
}

enum class Source { kNone, kInteger, kNumber, kConstant, kArithmetic, kRounded, kClamped };

Source sourceOf(const Value* value) {
  if (isInteger(value)) return Source::kInteger;
  if (integerConstant(value)) return Source::kConstant;
  const Node* node = value->node();
  if (node->kind() == c10::prim::NumToTensor && isInteger(node->input())) return Source::kNumber;
  if (roundsQuotient(node)) return Source::kRounded;
  if (clampsByIntegers(node)) return Source::kClamped;
  return integerKind(node) != nullptr ? Source::kArithmetic : Source::kNone;
}

// The values that have to be integers before `value` can be one.
std::vector<Value*> operandsOf(Value* value) {
  Node* node = value->node();
  switch (sourceOf(value)) {
    case Source::kArithmetic:
      return {node->input(0), node->input(1)};
    case Source::kRounded:
      return {node->input()->node()->input(0)};
    case Source::kClamped:
      return {node->input(0)};
    default:
      return {};
  }
}

// The tensors behind `root`, operands before users; empty when one of them is no size.
std::vector<Value*> chainOf(Value* root) {
  std::vector<Value*> order;
  std::vector<Value*> open{root};
  std::unordered_map<Value*, bool> expanded;
  while (!open.empty()) {
    Value* value = open.back();
    if (sourceOf(value) == Source::kNone) return {};
    const auto [at, fresh] = expanded.emplace(value, false);
    const std::vector<Value*> operands = operandsOf(value);
    if (fresh && !operands.empty()) {
      open.insert(open.end(), operands.begin(), operands.end());
      continue;
    }
    open.pop_back();
    if (!at->second) order.push_back(value);
    at->second = true;
  }
  return order;
}

// Writes integers in place of the tensors of a chain.
class IntegerWriter {
 public:
  IntegerWriter(Rewriter& rewriter, Node* before) : rewriter_(rewriter), before_(before) {}

  // Writes all; returns the nodes that are no longer needed for them.
  std::vector<Node*> writeAll(const std::vector<Value*>& chain) {
    std::vector<Node*> consumed;
    for (Value* value : chain) {
      const Source source = sourceOf(value);
      known_[value] = write(value);
      if (source == Source::kInteger || source == Source::kConstant) continue;
      if (source == Source::kRounded) consumed.push_back(value->node()->input()->node());
      consumed.push_back(value->node());
    }
    return consumed;
  }

  Value* at(Value* value) const { return known_.at(value); }

 private:
  Value* write(Value* value) {
    Node* node = value->node();
    switch (sourceOf(value)) {
      case Source::kInteger:
        return value;
      case Source::kNumber:
        return node->input();
      case Source::kConstant:
        return rewriter_.constant(*integerConstant(value), before_);
      case Source::kRounded:
        return rounded(node);
      case Source::kClamped:
        return clamped(node);
      default:
        break;
    }
    Value *left = known_.at(node->input(0)), *right = known_.at(node->input(1));
    if (node->kind() == c10::aten::rsub) std::swap(left, right);
    return make(integerKind(node), {left, right});
  }

  Value* make(const char* kind, const std::vector<Value*>& inputs) {
    Node* made = rewriter_.create(kind, inputs, before_);
    made->output()->setType(c10::IntType::get());
    return made->output();
  }

  // Rounded up is what is rounded down of the negative.
  Value* rounded(Node* node) {
    Node* quotient = node->input()->node();
    Value* size = known_.at(quotient->input(0));
    Value* by = rewriter_.constant(*integerConstant(quotient->input(1)), before_);
    if (node->kind() == c10::aten::floor) return make("aten::floordiv", {size, by});
    return make("aten::neg", {make("aten::floordiv", {make("aten::neg", {size}), by})});
  }

  // The upper bound wins where the bounds cross, as in aten::clamp.
  Value* clamped(Node* node) {
    Value* value = known_.at(node->input(0));
    if (!isNone(node->input(1)))
      value = make("prim::max", {value, rewriter_.constant(*integerConstant(node->input(1)), before_)});
    if (!isNone(node->input(2)))
      value = make("prim::min", {value, rewriter_.constant(*integerConstant(node->input(2)), before_)});
    return value;
  }

  Rewriter& rewriter_;
  Node* before_;
  std::unordered_map<Value*, Value*> known_;
};

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
  IntegerWriter integers(rewriter, node);
  std::vector<Node*> consumed = integers.writeAll(chain);
  consumed.push_back(node);
  rewriter.replace(consumed, node->output(), integers.at(node->input()), "a size is an integer again");
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
