// Lowering of arithmetic on integers: indices, positions and counts between the floats of a network.
#include "core/graph/node_facts.h"
#include "core/lower/lowering_builder.h"

namespace ipex_studio::lowering {
namespace {

using torch::jit::Node;
using torch::jit::Value;

bool isTensorValue(const Value* value) { return value->type()->isSubtypeOf(*c10::TensorType::get()); }

bool isInteger(const Value* value) { return value->type()->isSubtypeOf(*c10::IntType::get()); }

// A tensor of integers, or an integer that is constant or known when the sizes are; absent if it is neither.
LoweredOperand countableOrNumber(Steps& steps, Value* value) {
  if (isTensorValue(value)) return isCountable(value) ? use(value) : LoweredOperand();
  if (const auto number = constantInt(value)) return use(at::scalar_tensor(*number, at::kLong));
  return isInteger(value) ? steps.integer(value) : LoweredOperand();
}

LoweredOperand needCountable(Steps& steps, Value* value) {
  LoweredOperand operand = countableOrNumber(steps, value);
  if (operand.absent()) decline(reasons::kNotConstant, "An operand is neither a tensor of integers nor an integer.");
  return operand;
}

LoweredOperand number(std::int64_t value) { return use(at::scalar_tensor(value, at::kLong)); }

// Rounding of aten::div(a, b, rounding_mode): "floordiv", "truncdiv" or nullptr.
const char* roundedDivision(Node* node) {
  if (node->inputs().size() != 3) return nullptr;
  const auto mode = torch::jit::constant_as<std::string>(node->input(2));
  if (!mode) return nullptr;
  return *mode == "floor" ? "floordiv" : *mode == "trunc" ? "truncdiv" : nullptr;
}

const char* binaryOf(Node* node) {
  static const std::unordered_map<std::string, const char*> kNames = {{"aten::add", "add"},
                                                                      {"aten::sub", "sub"},
                                                                      {"aten::rsub", "sub"},
                                                                      {"aten::mul", "mul"},
                                                                      {"aten::remainder", "mod"},
                                                                      {"aten::fmod", "rem"},
                                                                      {"aten::floor_divide", "floordiv"},
                                                                      {"aten::floordiv", "floordiv"},
                                                                      {"aten::maximum", "max"},
                                                                      {"aten::minimum", "min"},
                                                                      {"aten::max", "max"},
                                                                      {"aten::min", "min"},
                                                                      {"aten::clamp_min", "max"},
                                                                      {"aten::clamp_max", "min"}};
  if (isKind(node, "aten::div")) return roundedDivision(node);
  const auto found = kNames.find(node->kind().toQualString());
  return found == kNames.end() ? nullptr : found->second;
}

// a + alpha·b and the like; rsub has its operands exchanged.
LoweredNode lowerBinary(Node* node, const char* op) {
  Steps steps;
  LoweredOperand a = needCountable(steps, node->input(0)), b = needCountable(steps, node->input(1));
  if (isKind(node, "aten::rsub")) std::swap(a, b);
  const bool has_factor = node->inputs().size() == 3 && !isKind(node, "aten::div");
  const std::int64_t factor = has_factor ? needInt(node->input(2), "alpha") : 1;
  if (factor != 1) b = steps.integers("mul", b, number(factor));
  steps.integers(op, a, b);
  return steps.finish(node);
}

LoweredNode lowerClamp(Node* node) {
  Steps steps;
  LoweredOperand x = use(node->input(0));
  if (!isNone(node->input(1))) x = steps.integers("max", x, needCountable(steps, node->input(1)));
  if (!isNone(node->input(2))) steps.integers("min", x, needCountable(steps, node->input(2)));
  return steps.finish(node);
}

}  // namespace

bool isCountable(const Value* value) {
  const auto dtype = knownDtype(value);
  return dtype == at::kLong || dtype == at::kInt || dtype == at::kByte || dtype == at::kBool;
}

LoweredOperand asFloat(Steps& steps, Value* value) {
  if (isCountable(value)) return steps.cast(use(value), "f32");
  needFloat(value);
  return use(value);
}

std::optional<LoweredNode> lowerIntegerMath(Node* node) {
  if (node->outputs().size() != 1 || node->inputs().empty() || knownDtype(node->output()) != at::kLong)
    return std::nullopt;
  if (!isTensorValue(node->input(0)) || !isCountable(node->input(0))) return std::nullopt;
  const std::string kind = node->kind().toQualString();
  const std::size_t inputs = node->inputs().size();
  if (kind == "aten::clamp" && inputs == 3) return lowerClamp(node);
  Steps steps;
  if (kind == "aten::neg") {
    steps.integers("sub", number(0), use(node->input(0)));
    return steps.finish(node);
  }
  if (kind == "aten::abs") {
    steps.integers("max", steps.integers("sub", number(0), use(node->input(0))), use(node->input(0)));
    return steps.finish(node);
  }
  const char* const op = binaryOf(node);
  if (op == nullptr || inputs < 2) return std::nullopt;
  return lowerBinary(node, op);
}

std::optional<LoweredNode> integerComparison(Node* node, const char* op) {
  if (!isTensorValue(node->input(0))) return std::nullopt;
  // libtorch converts numbers to bytes when the other side holds bytes.
  if (knownDtype(node->input(0)) == at::kByte || knownDtype(node->input(1)) == at::kByte) return std::nullopt;
  Steps steps;
  const LoweredOperand a = countableOrNumber(steps, node->input(0)), b = countableOrNumber(steps, node->input(1));
  if (a.absent() || b.absent()) return std::nullopt;
  steps.integers(op, a, b);
  return steps.finish(node);
}

std::optional<LoweredNode> lowerWithSize(Node* node) {
  static const std::unordered_map<std::string, PostOpKind> kKinds = {{"aten::add", PostOpKind::kAdd},
                                                                     {"aten::sub", PostOpKind::kSub},
                                                                     {"aten::mul", PostOpKind::kMul},
                                                                     {"aten::div", PostOpKind::kDiv}};
  const auto found = kKinds.find(node->kind().toQualString());
  const std::size_t inputs = node->inputs().size();
  if (found == kKinds.end() || inputs < 2 || !isTensorValue(node->input(0)) || !isInteger(node->input(1)))
    return std::nullopt;
  const bool has_factor = found->second == PostOpKind::kAdd || found->second == PostOpKind::kSub;
  if (inputs != (has_factor ? 3u : 2u) || knownDtype(node->output()) != at::kFloat) return std::nullopt;
  Steps steps;
  const LoweredOperand x = asFloat(steps, node->input(0)), size = steps.cast(steps.integer(node->input(1)), "f32");
  steps.chain({binaryPostOp(found->second, 0, has_factor ? needNumber(node->input(2), "alpha") : 1)}, {x, size});
  return steps.finish(node);
}

// no + mask·(yes - no): exact, since sums wrap around.
LoweredNode integerChoice(Node* node, Value* mask, Value* yes, Value* no) {
  Steps steps;
  const LoweredOperand otherwise = needCountable(steps, no);
  const LoweredOperand difference = steps.integers("sub", needCountable(steps, yes), otherwise);
  steps.integers("add", steps.integers("mul", difference, use(mask)), otherwise);
  return steps.finish(node);
}

}  // namespace ipex_studio::lowering
