// NodeRunners that take turns: the original goes on until it has the value that the other graph computed last.
#include "core/compare/lockstep.h"

#include <algorithm>
#include <unordered_map>

#include "core/graph/origins.h"
#include "core/graph/random_nodes.h"
#include "core/model/module_state.h"
#include "core/model/node_runner.h"
#include "core/model/run_mode.h"
#include "core/quantization/quantized_value.h"
#include "core/torch/random_numbers.h"
#include "core/torch/silent_writes.h"
#include "core/torch/torch_error.h"

namespace ipex_studio {
namespace {

using torch::jit::Graph;
using torch::jit::IValue;
using torch::jit::Module;
using torch::jit::Node;
using torch::jit::Value;

// True if a node writes into a value that exists already.
bool writesInPlace(Graph& graph) {
  for (const Node* node : allNodes(graph)) {
    if (node->maybeSchema() == nullptr ? !node->blocks().empty() : writesOperands(node)) return true;
  }
  return false;
}

bool draws(Graph& graph) {
  for (const Node* node : allNodes(graph)) {
    if (drawsRandomNumbers(node)) return true;
  }
  return false;
}

// One side, with the random numbers that it draws.
class Side {
 public:
  Side(const Module& module, const Inputs& inputs, SeededGenerator* generator)
      : module_(copyModule(module)),
        graph_(*module.get_method("forward").graph()),
        runner_(graph_),
        generator_(generator) {
    runner_.begin(copiedArguments(module, module_, inputs));
    if (generator_ == nullptr) return;
    generator_->seed(1);
    drawn_ = generator_->state();
  }

  Node* step() {
    if (generator_ == nullptr) return step_ = runner_.step();
    generator_->setState(drawn_);
    step_ = runner_.step();
    drawn_ = generator_->state();
    return step_;
  }

  // The node that ran last, or that failed.
  Node* failing() const {
    Node* node = step_ == nullptr ? *graph_.nodes().begin() : step_->next();
    while (node->kind() == c10::prim::Constant) node = node->next();
    return node;
  }

  NodeRunner& runner() { return runner_; }
  IValue results() const { return c10::ivalue::Tuple::create(runner_.results()); }

 private:
  Module module_;  // own state
  Graph& graph_;
  NodeRunner runner_;
  SeededGenerator* generator_;  // null: nothing draws
  at::Tensor drawn_;
  Node* step_ = nullptr;
};

// True if `right` can be read in the place of `now`.
bool fits(const IValue& now, const IValue& right) {
  if (!now.isTensor() || !right.isTensor()) return now.tagKind() == right.tagKind();
  const at::Tensor &a = now.toTensor(), &e = right.toTensor();
  return a.defined() && e.defined() && a.sizes().equals(e.sizes()) &&
         at::isFloatingType(a.scalar_type()) == at::isFloatingType(e.scalar_type());
}

using Places = std::unordered_map<const Value*, std::vector<std::size_t>>;

class Run {
 public:
  Run(const std::vector<ValuePair>& pairs, std::optional<std::size_t> replaced, const ValueTolerance& tolerance,
      Side& original, Side& other, bool copies)
      : pairs_(pairs), replaced_(replaced), tolerance_(tolerance), original_(original), other_(other), copies_(copies) {
    for (std::size_t p = 0; p < pairs.size(); ++p) {
      by_original_[pairs[p].original].push_back(p);
      by_other_[pairs[p].other].push_back(p);
    }
    result_.differences.resize(pairs.size());
    holdGiven();
  }

  LockstepResult take() {
    try {
      while (Node* node = other_.step()) {
        for (Value* output : node->outputs()) look(output);
      }
    } catch (const Error& problem) {
      fail(problem.what());
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& problem) {
      fail(shortMessage(problem));
    }
    while (advance() != nullptr) {
    }
    if (result_.failed == nullptr)
      result_.results = differenceOf(other_.results(), original_.results(), tolerance_).accuracy;
    return std::move(result_);
  }

 private:
  // Inputs and constants of the original are there without a node that gives them.
  void holdGiven() {
    for (const auto& [value, places] : by_original_) {
      const auto kind = value->node()->kind();
      if (kind == c10::prim::Param) {
        held_[value] = copyValue(original_.runner().valueOf(value));
      } else if (kind == c10::prim::Constant) {
        if (auto constant = torch::jit::toIValue(value)) held_[value] = *std::move(constant);
      }
      if (held_.count(value) != 0) waiting_[value] = places.size();
    }
  }

  void fail(const std::string& text) {
    result_.failed = other_.failing();
    result_.failure = text;
    result_.results.pass = false;
    result_.results.text = text;
  }

  void look(Value* output) {
    const auto found = by_other_.find(output);
    if (found == by_other_.end()) return;
    for (const std::size_t p : found->second) {
      const IValue* expected = await(pairs_[p].original);
      if (expected != nullptr) compare(p, *expected);
      release(pairs_[p].original);
    }
  }

  void compare(std::size_t p, const IValue& right) {
    const ValuePair& pair = pairs_[p];
    const IValue& now = other_.runner().valueOf(pair.other);
    const IValue expected = divided(right, pair.divisor);
    const IValue actual = asReal(pair.other, now, expected);
    if (comparable(actual, expected)) result_.differences[p] = differenceOf(actual, expected, tolerance_);
    if (replaced_ == p && fits(now, expected)) {
      other_.runner().setValue(
          pair.other, now.isTensor() ? IValue(expected.toTensor().to(now.toTensor().scalar_type())) : expected);
    }
  }

  static IValue divided(const IValue& value, const at::Tensor& divisor) {
    if (!divisor.defined() || !value.isTensor()) return value;
    const at::Tensor& tensor = value.toTensor();
    const bool broadcasts = tensor.dim() >= divisor.dim() && tensor.size(-divisor.dim()) == divisor.size(0);
    return broadcasts ? IValue(tensor / divisor) : value;
  }

  // Integers that stand for floats, as those floats.
  static IValue asReal(Value* value, const IValue& now, const IValue& expected) {
    const bool both =
        now.isTensor() && expected.isTensor() && now.toTensor().defined() && expected.toTensor().defined();
    if (!both || !at::isFloatingType(expected.toTensor().scalar_type())) return now;
    const at::ScalarType type = now.toTensor().scalar_type();
    if (type != at::kByte && type != at::kChar) return now;
    const auto real = realValue(value, now.toTensor());
    return real ? IValue(*real) : IValue();
  }

  // Values of another form, a permuted one for example, tell nothing.
  static bool comparable(const IValue& actual, const IValue& expected) {
    const std::vector<at::Tensor> a = tensorsOf(actual), e = tensorsOf(expected);
    if (a.empty() || a.size() != e.size()) return false;
    for (std::size_t t = 0; t < a.size(); ++t) {
      if (a[t].is_nested() || e[t].is_nested()) return false;
      if (!a[t].sizes().equals(e[t].sizes())) return false;
      if (at::isFloatingType(a[t].scalar_type()) != at::isFloatingType(e[t].scalar_type())) return false;
    }
    return true;
  }

  // Runs the original until it has this value; null if it never has.
  const IValue* await(const Value* value) {
    while (held_.count(value) == 0) {
      if (advance() == nullptr) return nullptr;
    }
    return &held_.at(value);
  }

  Node* advance() {
    Node* node = original_.step();
    if (node == nullptr) return nullptr;
    for (const Value* output : node->outputs()) {
      const auto found = by_original_.find(output);
      if (found == by_original_.end()) continue;
      const IValue& value = original_.runner().valueOf(output);
      held_[output] = copies_ ? copyValue(value) : value;
      waiting_[output] += found->second.size();
      if (waiting_[output] == 0) held_.erase(output);
    }
    return node;
  }

  void release(const Value* value) {
    if (--waiting_[value] == 0) held_.erase(value);
  }

  const std::vector<ValuePair>& pairs_;
  const std::optional<std::size_t> replaced_;
  const ValueTolerance& tolerance_;
  Side& original_;
  Side& other_;
  const bool copies_;  // true: the original may write into a value later
  Places by_original_, by_other_;
  std::unordered_map<const Value*, IValue> held_;
  std::unordered_map<const Value*, std::size_t> waiting_;  // pairs that were not compared yet
  LockstepResult result_;
};

}  // namespace

Lockstep::Lockstep(const Module& original, const Module& other, Inputs inputs, ValueTolerance tolerance)
    : original_(original), other_(other), inputs_(std::move(inputs)), tolerance_(tolerance) {}

LockstepResult Lockstep::run(const std::vector<ValuePair>& pairs, std::optional<std::size_t> replaced) const {
  const RunMode mode(original_);
  SeededGenerator generator;
  const bool random = draws(originalGraph()) || draws(otherGraph());
  Side original(original_, inputs_, random ? &generator : nullptr);
  Side other(other_, inputs_, random ? &generator : nullptr);
  return Run(pairs, replaced, tolerance_, original, other, writesInPlace(originalGraph())).take();
}

IValue Lockstep::originalValue(const Value* value, const std::unordered_map<const Value*, at::Tensor>& given) const {
  const RunMode mode(original_);
  SeededGenerator generator;
  Side side(original_, inputs_, &generator);
  while (Node* node = side.step()) {
    if (node == value->node()) return copyValue(side.runner().valueOf(value));
    for (const Value* output : node->outputs()) {
      const auto found = given.find(output);
      if (found == given.end()) continue;
      const IValue& now = side.runner().valueOf(output);
      if (fits(now, found->second)) side.runner().setValue(output, found->second.to(now.toTensor().scalar_type()));
    }
  }
  throw Error(ExitCode::kFailure, "The model does not compute a value that it should.");
}

}  // namespace ipex_studio
