// Finds jumps in the code of a model, and replays them on values that are a little off.
#include "core/verify/discrete_results.h"

#include <torch/csrc/jit/passes/inliner.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <unordered_set>

#include "core/graph/fused_op.h"
#include "core/verify/reference_results.h"

namespace ipex_studio {

using torch::jit::IValue;
using torch::jit::Module;
using torch::jit::Node;
using torch::jit::Value;

namespace {

using Kinds = std::unordered_set<std::string>;

// Operators that keep elements and their order in memory.
const Kinds& reshapes() {
  static const Kinds kinds = {"aten::view",   "aten::reshape",    "aten::flatten", "aten::squeeze", "aten::unsqueeze",
                              "aten::detach", "aten::contiguous", "aten::clone",   "aten::alias",   "aten::to"};
  return kinds;
}

// Operators that move elements, or keep their order of size; operands but the first are fixed.
const Kinds& carriers() {
  static const Kinds kinds = {"aten::permute",   "aten::transpose",   "aten::t",         "aten::expand",
                              "aten::slice",     "aten::select",      "aten::clamp",     "aten::clamp_",
                              "aten::clamp_min", "aten::clip",        "aten::clamp_max", "aten::relu",
                              "aten::add",       "aten::sub",         "aten::mul",       "aten::div",
                              "aten::neg",       "aten::logical_not", "aten::type_as",   "aten::bitwise_not"};
  return kinds;
}

// Operators whose results jump while their first operand grows.
const Kinds& jumpingKinds() {
  static const Kinds kinds = {"aten::round",     "aten::floor",  "aten::ceil",   "aten::trunc", "aten::sign",
                              "aten::bucketize", "aten::round_", "aten::floor_", "aten::ceil_", "aten::trunc_",
                              "aten::gt",        "aten::ge",     "aten::lt",     "aten::le"};
  return kinds;
}

// Operators that give places of values, and whose places differ from each other.
const Kinds& orders() {
  static const Kinds kinds = {"aten::topk", "aten::sort", "aten::argsort"};
  return kinds;
}

bool isOf(const Kinds& kinds, const Node* node) { return kinds.count(node->kind().toQualString()) != 0; }

std::optional<IValue> constantArgument(const Node* node, const char* name) {
  const c10::FunctionSchema* schema = node->maybeSchema();
  const auto index = schema == nullptr ? c10::nullopt : schema->argumentIndexWithName(name);
  if (!index || static_cast<std::size_t>(*index) >= node->inputs().size()) return std::nullopt;
  return torch::jit::toIValue(node->input(static_cast<std::size_t>(*index)));
}

bool convertsToIntegers(const Node* node) {
  if (node->kind() != c10::aten::to) return false;
  const auto dtype = constantArgument(node, "dtype");
  return dtype && dtype->isInt() && c10::isIntegralType(static_cast<at::ScalarType>(dtype->toInt()), true);
}

// A comparison or an arithmetic operator with a second operand that is computed has two values, and is no jump.
bool isFixed(const Node* node) {
  if (isOf(reshapes(), node)) return true;
  for (std::size_t i = 1; i < node->inputs().size(); ++i) {
    const Value* operand = node->input(i);
    const bool tensor = operand->type()->isSubtypeOf(*c10::TensorType::get());
    if (tensor && node->kind() != c10::aten::type_as && !torch::jit::toIValue(operand)) return false;
  }
  return true;
}

// Which result of the node holds places of values; nullopt if none does.
std::optional<std::size_t> placesOf(const Node* node) {
  static const Kinds alone = {"aten::argmax", "aten::argmin", "aten::argsort"};
  static const Kinds second = {"aten::max", "aten::min", "aten::topk", "aten::sort", "aten::kthvalue", "aten::median"};
  if (isOf(alone, node)) return 0;
  if (isOf(second, node) && node->outputs().size() == 2) return 1;
  return std::nullopt;
}

// The value that a node makes of `value`; `operand`: place of its next computed operand in the tuple.
IValue replay(const Node* node, const IValue& value, const c10::ivalue::Tuple& returned, std::size_t* operand,
              std::size_t result = 0) {
  torch::jit::Stack stack{value};
  for (std::size_t i = 1; i < node->inputs().size(); ++i) {
    const auto constant = torch::jit::toIValue(node->input(i));
    stack.push_back(constant ? *constant : returned.elements()[(*operand)++]);
  }
  node->getOperation()(stack);
  return stack[result];
}

at::Tensor replayAll(const std::vector<Node*>& chain, const at::Tensor& value, const IValue& returned,
                     std::size_t operand) {
  IValue result = value.clone();  // a node may write to it
  for (const Node* node : chain) result = replay(node, result, returned.toTupleRef(), &operand);
  return result.toTensor();
}

double largest(const at::Tensor& values) {
  if (values.numel() == 0) return 0;
  return at::where(values.isfinite(), values.abs(), at::zeros_like(values)).max().item<double>();
}

// How far the optimized model's values may be off: by the rule of core/verify/verify.h in FP32, else in proportion to
// all values, as the cosine has it.
double toleranceOf(const at::Tensor& own, const at::Tensor* exact, double low_cosine) {
  if (low_cosine > 0) {
    const double mean_square = own.numel() == 0 ? 0 : own.to(at::kDouble).square().mean().item<double>();
    return std::sqrt(2 * (1 - low_cosine) * mean_square);
  }
  if (exact == nullptr) return 1e-4 * largest(own.to(at::kDouble));
  return 2 * largest(own.to(at::kDouble) - *exact) + 1e-5 * largest(*exact);
}

}  // namespace

// Looks for jumps behind a graph's result.
class DiscreteResults::Finder {
 public:
  explicit Finder(torch::jit::Graph& graph) : graph_(graph) {
    Value* result = graph.outputs()[0];
    returned_.push_back(result);
    search(result);
  }

  std::vector<Jump> jumps;

  // Makes the graph return the values before the jumps.
  void finish() {
    Node* tuple = graph_.createTuple(returned_);
    graph_.block()->appendNode(tuple);
    graph_.eraseOutput(0);
    graph_.registerOutput(tuple->output());
  }

 private:
  // False if the tensors in the value cannot be counted, so that nothing behind it has a known place.
  bool search(Value* value) {
    Node* node = value->node();
    const auto kind = value->type()->kind();
    if (node->kind() == c10::prim::TupleConstruct || node->kind() == c10::prim::ListConstruct) {
      return std::all_of(node->inputs().begin(), node->inputs().end(),
                         [this](Value* element) { return search(element); });
    }
    if (node->kind() == c10::prim::DictConstruct) {
      for (std::size_t i = 1; i < node->inputs().size(); i += 2) {
        if (!search(node->input(i))) return false;
      }
      return true;
    }
    if (kind == c10::TypeKind::NoneType || kind == c10::TypeKind::StringType) return true;
    const bool number = kind == c10::TypeKind::IntType || kind == c10::TypeKind::FloatType ||
                        kind == c10::TypeKind::BoolType || kind == c10::TypeKind::NumberType;
    if (kind != c10::TypeKind::TensorType && !number) return false;
    if (!number) trace(value);
    ++tensors_;
    return true;
  }

  // Goes back from a result to the earliest jump.
  void trace(Value* value) {
    Jump jump;
    jump.output = tensors_;
    std::vector<Node*> back;
    std::size_t kept = 0;
    for (Node* node = value->node(); node->owningBlock() == graph_.block(); node = value->node()) {
      if (const auto places = placesOf(node); places && node->output(*places) == value) {
        const auto dim = constantArgument(node, "dim");
        const bool known = dim && (dim->isInt() || dim->isNone());
        const auto keeps = [](const Node* after) { return isOf(reshapes(), after); };
        if (!known || !std::all_of(back.begin(), back.end(), keeps)) return;
        jump.finder = node;
        jump.places = *places;
        kept = back.size();
        break;
      }
      const bool jumps_here = isOf(jumpingKinds(), node) || convertsToIntegers(node);
      if (!jumps_here && !isOf(carriers(), node) && !isOf(reshapes(), node)) break;
      if (!isFixed(node)) break;
      back.push_back(node);
      if (jumps_here) kept = back.size();
      value = node->input(0);
    }
    if (kept == 0 && jump.finder == nullptr) return;
    jump.chain.assign(back.rend() - static_cast<std::ptrdiff_t>(kept), back.rend());
    tap(&jump);
    jumps.push_back(std::move(jump));
  }

  void tap(Jump* jump) {
    jump->value = returned_.size();
    std::vector<Node*> nodes = jump->chain;
    if (jump->finder != nullptr) nodes.insert(nodes.begin(), jump->finder);
    returned_.push_back(kept(nodes.front()->input(0), nodes.front()));
    for (Node* node : nodes) {
      for (std::size_t i = 1; i < node->inputs().size(); ++i) {
        if (!torch::jit::toIValue(node->input(i))) returned_.push_back(kept(node->input(i), node));
      }
    }
  }

  // The value as `reader` sees it; later nodes may write to a tensor.
  Value* kept(Value* value, Node* reader) {
    if (!value->type()->isSubtypeOf(*c10::TensorType::get())) return value;
    const torch::jit::WithInsertPoint point(reader);
    return graph_.insert(c10::aten::clone, {value});
  }

  torch::jit::Graph& graph_;
  std::vector<Value*> returned_;
  std::size_t tensors_ = 0;
};

DiscreteResults::DiscreteResults(const Module& original) : module_(original.clone(/*inplace=*/true)) {
  module_.eval();
  torch::jit::Graph& graph = *module_.get_method("forward").graph();
  torch::jit::Inline(graph);
  Finder finder(graph);
  jumps_ = std::move(finder.jumps);
  if (!empty()) finder.finish();
}

void DiscreteResults::check(const IValue& returned) {
  const torch::NoGradGuard no_grad;
  const std::vector<at::Tensor> results = tensorsOf(returned.toTupleRef().elements()[0]);
  const auto leads = [&](const Jump& jump) {
    const IValue& value = returned.toTupleRef().elements()[jump.value];
    if (jump.output >= results.size() || !value.isTensor() || !at::isFloatingType(value.toTensor().scalar_type()))
      return false;
    const at::Tensor& result = results[jump.output];
    std::size_t operand = jump.value + 1;
    at::Tensor first = value.toTensor();
    if (jump.finder != nullptr) {
      if (first.dim() == 0) return false;
      first = replay(jump.finder, first, returned.toTupleRef(), &operand, jump.places).toTensor();
    }
    const at::Tensor again = replayAll(jump.chain, first, returned, operand);
    return again.scalar_type() == result.scalar_type() && at::equal(again, result);
  };
  jumps_.erase(std::remove_if(jumps_.begin(), jumps_.end(), [&](const Jump& jump) { return !leads(jump); }),
               jumps_.end());
}

const DiscreteResults::Jump* DiscreteResults::jumpOf(std::size_t output) const {
  const auto jump = std::find_if(jumps_.begin(), jumps_.end(), [&](const Jump& s) { return s.output == output; });
  return jump == jumps_.end() ? nullptr : &*jump;
}

bool DiscreteResults::rounds(std::size_t output) const {
  const Jump* const jump = jumpOf(output);
  return jump != nullptr && jump->finder == nullptr;
}

std::optional<DiscreteResults::Verdict> DiscreteResults::judge(std::size_t output, const at::Tensor& actual,
                                                               const at::Tensor& own, const IValue& returned,
                                                               const IValue* exact, double low_cosine) const {
  const Jump* const jump = jumpOf(output);
  if (jump == nullptr) return std::nullopt;
  const at::Tensor own_value = returned.toTupleRef().elements()[jump->value].toTensor();
  at::Tensor exact_value;
  if (exact != nullptr) exact_value = exact->toTupleRef().elements()[jump->value].toTensor();
  const bool use_exact = exact_value.defined() && exact_value.sizes().equals(own_value.sizes()) &&
                         exact_value.scalar_type() == at::kDouble;
  const at::Tensor value = use_exact ? exact_value : own_value.to(at::kDouble);
  const double tolerance = toleranceOf(own_value, use_exact ? &exact_value : nullptr, low_cosine);
  return jump->finder != nullptr ? judgePlaces(*jump, actual, own, returned, value, tolerance)
                                 : judgeRounded(*jump, actual, own, returned, value, tolerance);
}

DiscreteResults::Verdict DiscreteResults::judgeRounded(const Jump& jump, const at::Tensor& actual,
                                                       const at::Tensor& own, const IValue& returned,
                                                       const at::Tensor& value, double tolerance) const {
  const auto resultAt = [&](double shift) {
    return replayAll(jump.chain, value + shift, returned, jump.value + 1).to(at::kDouble);
  };
  const at::Tensor given = actual.to(at::kDouble), expected = own.to(at::kDouble);
  const at::Tensor low = resultAt(-tolerance), middle = resultAt(0), high = resultAt(tolerance);
  // Arithmetic behind the jump rounds in FP32, too.
  const auto equals = [&](const at::Tensor& other) { return (given - other).abs() <= 1e-6 * other.abs(); };
  Verdict verdict;
  verdict.tolerance = tolerance;
  verdict.actual = given;
  verdict.own = expected;
  verdict.right = equals(expected).logical_or(given.isnan().logical_and(expected.isnan()));
  verdict.right = verdict.right.logical_or(equals(low)).logical_or(equals(middle)).logical_or(equals(high));
  if (tolerance >= 0.5) {
    // Several jumps are near; those between the outer ones count, except where integers overflow.
    const at::Tensor inside = (given >= at::minimum(low, high)).logical_and(given <= at::maximum(low, high));
    verdict.right = verdict.right.logical_or(inside.logical_and((high - low).abs() <= 2 * tolerance + 1));
  }
  return verdict;
}

DiscreteResults::Verdict DiscreteResults::judgePlaces(const Jump& jump, const at::Tensor& actual, const at::Tensor& own,
                                                      const IValue& returned, const at::Tensor& value,
                                                      double tolerance) const {
  std::size_t operand = jump.value + 1;
  const at::Tensor own_value = returned.toTupleRef().elements()[jump.value].toTensor();
  const at::Tensor places = replay(jump.finder, own_value, returned.toTupleRef(), &operand, jump.places).toTensor();
  const at::Tensor given = actual.to(at::kLong).reshape(places.sizes());
  const auto dim = constantArgument(jump.finder, "dim");
  const bool whole = dim->isNone();  // argmax of all elements
  const at::Tensor values = whole ? value.flatten() : value;
  const std::int64_t axis = whole ? 0 : c10::maybe_wrap_dim(dim->toInt(), value.dim());
  const bool kept = places.dim() == values.dim();
  const auto valuesAt = [&](const at::Tensor& at) {
    const at::Tensor index = whole ? at.flatten() : kept ? at : at.unsqueeze(axis);
    const at::Tensor found = values.gather(axis, index.clamp(0, values.size(axis) - 1));
    return (whole || kept ? found : found.squeeze(axis)).reshape(at.sizes());
  };
  Verdict verdict;
  verdict.places = true;
  verdict.tolerance = 2 * tolerance;  // both values may be off
  verdict.actual = valuesAt(given);
  verdict.own = valuesAt(places);
  at::Tensor right =
      ((verdict.actual - verdict.own).abs() <= verdict.tolerance).logical_or(verdict.actual == verdict.own);
  right = right.logical_and(given >= 0).logical_and(given < values.size(axis));
  if (isOf(orders(), jump.finder) && given.size(axis) > 1) {
    // Each place comes once.
    const at::Tensor sorted = std::get<0>(given.sort(axis));
    const at::Tensor twice =
        sorted.narrow(axis, 1, given.size(axis) - 1) == sorted.narrow(axis, 0, given.size(axis) - 1);
    right = right.logical_and(twice.any(axis, /*keepdim=*/true).logical_not());
  }
  verdict.right = right.logical_or(given == places).reshape(own.sizes());
  return verdict;
}

}  // namespace ipex_studio
