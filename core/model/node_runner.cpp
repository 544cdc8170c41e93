// Execution of operators, constructors, branches and loops of a graph.
#include "core/model/node_runner.h"

#include <fmt/format.h>

#include <stdexcept>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/model/model.h"
#include "core/torch/torch_error.h"

namespace ipex_studio {

using torch::jit::Block;
using torch::jit::IValue;
using torch::jit::Node;
using torch::jit::Stack;
using torch::jit::Value;

namespace {

// The node of the top-level block that `node` sits in.
const Node* topLevel(const Node* node, const Block* top) {
  while (node->owningBlock() != top) node = node->owningBlock()->owningNode();
  return node;
}

// True for kinds that runConstructor() knows.
bool isConstructor(c10::Symbol kind) {
  switch (kind) {
    case c10::prim::ListConstruct:
    case c10::prim::DictConstruct:
    case c10::prim::ListUnpack:
    case c10::prim::TupleUnpack:
    case c10::prim::TupleConstruct:
    case c10::prim::unchecked_cast:
    case c10::prim::isinstance:
      return true;
    default:
      return false;
  }
}

}  // namespace

NodeRunner::NodeRunner(torch::jit::Graph& graph, Hook hook) : graph_(graph), hook_(std::move(hook)) {
  code_ = codeOf(graph.block());
  dropAfterLastUse();
  values_.resize(slots_.size());
}

NodeRunner::Code NodeRunner::codeOf(Block* block) {
  Code code;
  for (const Value* input : block->inputs()) code.inputs.push_back(slotOf(input));
  for (Node* node : block->nodes()) {
    if (node->kind() == c10::prim::Constant) {
      const Slot slot = slotOf(node->output());
      // Functions are constants without a value.
      if (auto value = torch::jit::toIValue(node->output())) constants_.emplace_back(slot, *std::move(value));
      continue;
    }
    Step step;
    step.node = node;
    for (const Value* input : node->inputs()) step.inputs.push_back(slotOf(input));
    for (const Value* output : node->outputs()) step.outputs.push_back(slotOf(output));
    for (Block* inner : node->blocks()) step.blocks.push_back(codeOf(inner));
    code.steps.push_back(std::move(step));
  }
  for (const Value* output : block->outputs()) code.outputs.push_back(slotOf(output));
  return code;
}

void NodeRunner::dropAfterLastUse() {
  std::unordered_map<const Node*, std::vector<Slot>> dead_after;
  for (const Step& step : code_.steps) {
    for (const Value* value : step.node->outputs()) {
      const Node* latest = nullptr;
      for (const auto& use : value->uses()) {
        const Node* user = topLevel(use.user, graph_.block());
        if (latest == nullptr || latest->isBefore(user)) latest = user;
      }
      if (latest != nullptr) dead_after[latest].push_back(slotOf(value));
    }
  }
  for (Step& step : code_.steps) {
    const auto dead = dead_after.find(step.node);
    if (dead != dead_after.end()) step.dead = std::move(dead->second);
  }
}

std::vector<IValue> NodeRunner::run(std::vector<IValue> inputs) {
  begin(std::move(inputs));
  while (step() != nullptr) {
  }
  return results();
}

void NodeRunner::begin(std::vector<IValue> inputs) {
  IPEX_CHECK(inputs.size() == code_.inputs.size(), "wrong number of graph inputs");
  for (std::optional<IValue>& value : values_) value.reset();
  for (const auto& [slot, value] : constants_) values_[slot] = value;
  for (std::size_t i = 0; i < inputs.size(); ++i) values_[code_.inputs[i]] = std::move(inputs[i]);
  next_ = 0;
}

Node* NodeRunner::step() {
  if (next_ == code_.steps.size()) return nullptr;
  Step& step = code_.steps[next_++];
  try {
    runNext(step);
  } catch (...) {
    stack_.clear();
    leaveContexts();
    throw;
  }
  return step.node;
}

std::vector<IValue> NodeRunner::results() const {
  std::vector<IValue> results;
  for (const Slot output : code_.outputs) results.push_back(at(output));
  return results;
}

void NodeRunner::setValue(const Value* value, IValue other) { values_[slots_.at(value)] = std::move(other); }

// The interpreter leaves contexts, too: no_grad() would stay on for the rest of the process.
void NodeRunner::leaveContexts() {
  while (!entered_.empty()) exit();
}

void NodeRunner::runCode(Code& code) {
  for (Step& step : code.steps) runNext(step);
}

void NodeRunner::runNext(Step& step) {
  if (hook_) {
    const std::int64_t begin = nowNs();
    runNode(step);
    hook_(step.node, begin, nowNs() - begin);
  } else {
    runNode(step);
  }
  for (const Slot slot : step.dead) values_[slot].reset();
}

Stack& NodeRunner::operands(const Step& step) {
  stack_.clear();
  for (const Slot input : step.inputs) stack_.push_back(at(input));
  return stack_;
}

void NodeRunner::store(const Step& step, Stack&& results) {
  // Lists are unpacked into as many values as the code names; how many they hold depends on the inputs.
  if (results.size() != step.outputs.size())
    throw runError(std::runtime_error(
        fmt::format("Expected {} elements in a list but found {}", step.outputs.size(), results.size())));
  for (std::size_t r = 0; r < results.size(); ++r) values_[step.outputs[r]] = std::move(results[r]);
}

void NodeRunner::runNode(Step& step) {
  switch (step.node->kind()) {
    case c10::prim::If:
      return runIf(step);
    case c10::prim::Loop:
      return runLoop(step);
    case c10::prim::GetAttr:
    case c10::prim::SetAttr:
      return runObject(step);
    case c10::prim::Enter:
      return enter(step);
    case c10::prim::Exit:
      exit();
      return store(step, {IValue()});
    case c10::prim::CallFunction:
      return interpret(step);
    default:
      break;
  }
  if (step.way == Step::Way::kUnknown) findWay(step);
  if (step.way == Step::Way::kConstructor) return runConstructor(step);
  if (step.way == Step::Way::kInterpreter) return interpret(step);
  Stack& stack = operands(step);
  // Operators with any number of arguments (print, format) read that number from the top of the stack, as in the
  // interpreter.
  if (step.takes_count) stack.emplace_back(static_cast<std::int64_t>(step.inputs.size()));
  (*step.operation)(stack);
  store(step, std::move(stack));
}

void NodeRunner::findWay(Step& step) {
  const Node* node = step.node;
  if (isConstructor(node->kind())) {
    step.way = Step::Way::kConstructor;
  } else if (!isInterpreterInstruction(node->kind()) && node->maybeOperator() != nullptr && node->blocks().empty()) {
    step.operation = node->getOperation();
    step.takes_count = node->schema().is_vararg();
    step.way = Step::Way::kOperator;
  } else {
    step.way = Step::Way::kInterpreter;
  }
}

// Runs kinds for which the interpreter has instructions instead of operators (its functions for them are not exported).
void NodeRunner::runConstructor(Step& step) {
  const Node* node = step.node;
  Stack& given = operands(step);
  switch (node->kind()) {
    case c10::prim::ListConstruct: {
      c10::impl::GenericList list(node->output()->type()->expectRef<c10::ListType>().getElementType());
      for (const IValue& element : given) list.push_back(element);
      given = {IValue(std::move(list))};
      break;
    }
    case c10::prim::DictConstruct: {
      const auto& type = node->output()->type()->expectRef<c10::DictType>();
      c10::impl::GenericDict dict(type.getKeyType(), type.getValueType());
      for (std::size_t i = 0; i + 1 < given.size(); i += 2) dict.insert_or_assign(given[i], given[i + 1]);
      given = {IValue(std::move(dict))};
      break;
    }
    case c10::prim::ListUnpack:
      given = given[0].toListRef().vec();
      break;
    case c10::prim::TupleUnpack: {
      const auto tuple = given[0].toTuple();
      given.clear();
      for (std::size_t e = 0; e < tuple->elements().size(); ++e) given.push_back(tuple->elements()[e]);
      break;
    }
    case c10::prim::TupleConstruct: {
      const auto type = node->output()->type()->expect<c10::TupleType>();
      given = {IValue(type->name() ? c10::ivalue::Tuple::createNamed(std::move(given), type)
                                   : c10::ivalue::Tuple::create(std::move(given)))};
      break;
    }
    case c10::prim::isinstance: {
      bool any = false;
      for (const c10::TypePtr& type : node->tys(c10::attr::types)) any = any || given[0].type()->isSubtypeOf(*type);
      given = {IValue(any)};
      break;
    }
    default:
      break;  // prim::unchecked_cast: the operand is the result
  }
  store(step, std::move(given));
}

void NodeRunner::runObject(Step& step) {
  const auto object = at(step.inputs[0]).toObject();
  const std::string& name = step.node->s(c10::attr::name);
  if (step.node->kind() == c10::prim::GetAttr) {
    values_[step.outputs[0]] = object->getAttr(name);
  } else {
    object->setAttr(name, at(step.inputs[1]));
  }
}

// Calls the object's __enter__; what that returns is the value of `with … as`.
void NodeRunner::enter(Step& step) {
  IValue object = at(step.inputs[0]);
  Stack stack{object};
  object.toObjectRef().type()->getMethod("__enter__").run(stack);
  entered_.push_back(std::move(object));
  store(step, std::move(stack));
}

void NodeRunner::exit() {
  const IValue object = std::move(entered_.back());
  entered_.pop_back();
  Stack stack{object, IValue(), IValue(), IValue()};  // type, value and trace of an exception
  object.toObjectRef().type()->getMethod("__exit__").run(stack);
}

void NodeRunner::interpret(Step& step) {
  if (!step.interpreted) {
    try {
      if (!step.blocks.empty()) throw std::runtime_error("it has blocks");
      step.interpreted.emplace(step.node);
    } catch (const std::exception&) {
      throw Error(ExitCode::kUnsupported,
                  fmt::format("'{}' cannot be run node by node; the model runs, but its inside stays unseen.",
                              step.node->kind().toQualString()));
    }
  }
  Stack stack;
  for (const Value* operand : step.interpreted->operands()) stack.push_back(valueOf(operand));
  step.interpreted->run(stack);
  store(step, std::move(stack));
}

void NodeRunner::runIf(Step& step) {
  Code& taken = step.blocks[at(step.inputs[0]).toBool() ? 0 : 1];
  runCode(taken);
  for (std::size_t o = 0; o < step.outputs.size(); ++o) values_[step.outputs[o]] = at(taken.outputs[o]);
}

// prim::Loop(max_trip_count, condition, carried…) with body(trip, carried…) -> (condition, carried…)
void NodeRunner::runLoop(Step& step) {
  Code& body = step.blocks[0];
  const std::int64_t trips = at(step.inputs[0]).toInt();
  bool go_on = at(step.inputs[1]).toBool();
  std::vector<IValue> carried;
  for (std::size_t i = 2; i < step.inputs.size(); ++i) carried.push_back(at(step.inputs[i]));
  const auto enter = [&](std::int64_t trip) {
    values_[body.inputs[0]] = trip;
    for (std::size_t c = 0; c < carried.size(); ++c) values_[body.inputs[c + 1]] = carried[c];
    if (round_hook_) round_hook_(step.node->blocks()[0]);
  };
  std::int64_t trip = 0;
  for (; trip < trips && go_on; ++trip) {
    enter(trip);
    runCode(body);
    go_on = at(body.outputs[0]).toBool();
    for (std::size_t c = 0; c < carried.size(); ++c) carried[c] = at(body.outputs[c + 1]);
  }
  enter(trip);
  store(step, std::move(carried));
}

std::vector<IValue> graphArguments(const torch::jit::Module& module, const std::vector<IValue>& inputs) {
  const c10::FunctionSchema& schema = module.get_method("forward").function().getSchema();
  std::vector<IValue> arguments{module._ivalue()};
  arguments.insert(arguments.end(), inputs.begin(), inputs.end());
  for (std::size_t a = arguments.size(); a < schema.arguments().size() && schema.arguments()[a].default_value(); ++a) {
    arguments.push_back(*schema.arguments()[a].default_value());
  }
  return arguments;
}

std::vector<IValue> copiedArguments(const torch::jit::Module& module, const torch::jit::Module& self,
                                    const std::vector<IValue>& inputs) {
  std::vector<IValue> copies;
  for (const IValue& input : inputs) copies.push_back(copyValue(input));
  std::vector<IValue> arguments = graphArguments(module, copies);
  arguments.front() = self._ivalue();
  return arguments;
}

}  // namespace ipex_studio
