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
  std::unordered_map<const Value*, const Node*> last;
  const auto visit = [&](const Value* value) {
    if (value->uses().empty()) return;
    const Node* latest = nullptr;
    for (const auto& use : value->uses()) {
      const Node* user = topLevel(use.user, graph.block());
      if (user == graph.return_node()) return;
      if (latest == nullptr || latest->isBefore(user)) latest = user;
    }
    dead_after_[latest].push_back(value);
  };
  for (Node* node : graph.nodes()) {
    for (const Value* output : node->outputs()) visit(output);
  }
}

std::vector<IValue> NodeRunner::run(std::vector<IValue> inputs) {
  begin(std::move(inputs));
  while (step() != nullptr) {
  }
  return results();
}

void NodeRunner::begin(std::vector<IValue> inputs) {
  values_.clear();
  IPEX_CHECK(inputs.size() == graph_.inputs().size(), "wrong number of graph inputs");
  for (std::size_t i = 0; i < inputs.size(); ++i) values_[graph_.inputs()[i]] = std::move(inputs[i]);
  next_ = *graph_.nodes().begin();
}

Node* NodeRunner::step() {
  try {
    while (next_ != graph_.return_node()) {
      Node* node = next_;
      next_ = node->next();
      runNext(node);
      if (node->kind() != c10::prim::Constant) return node;
    }
    return nullptr;
  } catch (...) {
    leaveContexts();
    throw;
  }
}

std::vector<IValue> NodeRunner::results() const {
  std::vector<IValue> results;
  for (const Value* output : graph_.outputs()) results.push_back(values_.at(output));
  return results;
}

// The interpreter leaves contexts, too: no_grad() would stay on for the rest of the process.
void NodeRunner::leaveContexts() {
  while (!entered_.empty()) exit();
}

void NodeRunner::runBlock(Block* block) {
  for (Node* node : block->nodes()) runNext(node);
}

void NodeRunner::runNext(Node* node) {
  if (node->kind() == c10::prim::Constant) {
    // Functions are constants without a value.
    if (auto value = torch::jit::toIValue(node->output())) values_[node->output()] = *std::move(value);
    return;
  }
  const std::int64_t begin = nowNs();
  runNode(node);
  const std::int64_t elapsed = nowNs() - begin;
  if (hook_) hook_(node, begin, elapsed);
  const auto dead = dead_after_.find(node);
  if (dead == dead_after_.end()) return;
  for (const Value* value : dead->second) values_.erase(value);
}

Stack NodeRunner::operands(Node* node) const {
  Stack stack;
  stack.reserve(node->inputs().size() + 1);
  for (const Value* input : node->inputs()) stack.push_back(values_.at(input));
  return stack;
}

void NodeRunner::store(Node* node, std::vector<IValue> results) {
  // Lists are unpacked into as many values as the code names; how many they hold depends on the inputs.
  if (results.size() != node->outputs().size())
    throw runError(std::runtime_error(
        fmt::format("Expected {} elements in a list but found {}", node->outputs().size(), results.size())));
  for (std::size_t r = 0; r < results.size(); ++r) values_[node->output(r)] = std::move(results[r]);
}

void NodeRunner::runNode(Node* node) {
  switch (node->kind()) {
    case c10::prim::If:
      return runIf(node);
    case c10::prim::Loop:
      return runLoop(node);
    case c10::prim::GetAttr:
    case c10::prim::SetAttr:
      return runObject(node);
    case c10::prim::Enter:
      return enter(node);
    case c10::prim::Exit:
      exit();
      return store(node, {IValue()});
    case c10::prim::CallFunction:
      return interpret(node);
    default:
      break;
  }
  Prepared& how = prepared(node);
  if (how.way == Prepared::Way::kConstructor) return runConstructor(node);
  if (how.way == Prepared::Way::kInterpreter) return interpret(node);
  Stack stack = operands(node);
  // Operators with any number of arguments (print, format) read that number from the top of the stack, as in the
  // interpreter.
  if (how.takes_count) stack.emplace_back(static_cast<std::int64_t>(node->inputs().size()));
  (*how.operation)(stack);
  store(node, std::move(stack));
}

NodeRunner::Prepared& NodeRunner::prepared(Node* node) {
  const auto [found, fresh] = prepared_.try_emplace(node);
  Prepared& how = found->second;
  if (!fresh) return how;
  if (isConstructor(node->kind())) {
    how.way = Prepared::Way::kConstructor;
  } else if (!isInterpreterInstruction(node->kind()) && node->maybeOperator() != nullptr && node->blocks().empty()) {
    how.way = Prepared::Way::kOperator;
    how.operation = node->getOperation();
    how.takes_count = node->schema().is_vararg();
  }
  return how;
}

// Runs kinds for which the interpreter has instructions instead of operators (its functions for them are not exported).
void NodeRunner::runConstructor(Node* node) {
  Stack given = operands(node);
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
  store(node, std::move(given));
}

void NodeRunner::runObject(Node* node) {
  const auto object = values_.at(node->input(0)).toObject();
  const std::string& name = node->s(c10::attr::name);
  if (node->kind() == c10::prim::GetAttr) {
    values_[node->output()] = object->getAttr(name);
  } else {
    object->setAttr(name, values_.at(node->input(1)));
  }
}

// Calls the object's __enter__; what that returns is the value of `with … as`.
void NodeRunner::enter(Node* node) {
  IValue object = values_.at(node->input(0));
  Stack stack{object};
  object.toObjectRef().type()->getMethod("__enter__").run(stack);
  entered_.push_back(std::move(object));
  store(node, std::move(stack));
}

void NodeRunner::exit() {
  const IValue object = std::move(entered_.back());
  entered_.pop_back();
  Stack stack{object, IValue(), IValue(), IValue()};  // type, value and trace of an exception
  object.toObjectRef().type()->getMethod("__exit__").run(stack);
}

void NodeRunner::interpret(Node* node) {
  auto found = interpreted_.find(node);
  if (found == interpreted_.end()) {
    try {
      if (!node->blocks().empty()) throw std::runtime_error("it has blocks");
      found = interpreted_.emplace(node, InterpretedNode(node)).first;
    } catch (const std::exception&) {
      throw Error(ExitCode::kUnsupported,
                  fmt::format("'{}' cannot be run node by node; the model runs, but its inside stays unseen.",
                              node->kind().toQualString()));
    }
  }
  Stack stack;
  for (const Value* operand : found->second.operands()) stack.push_back(values_.at(operand));
  found->second.run(stack);
  store(node, std::move(stack));
}

void NodeRunner::runIf(Node* node) {
  Block* taken = node->blocks()[values_.at(node->input(0)).toBool() ? 0 : 1];
  runBlock(taken);
  for (std::size_t o = 0; o < node->outputs().size(); ++o) values_[node->output(o)] = values_.at(taken->outputs()[o]);
}

// prim::Loop(max_trip_count, condition, carried…) with body(trip, carried…) -> (condition, carried…)
void NodeRunner::runLoop(Node* node) {
  Block* body = node->blocks()[0];
  const std::int64_t trips = values_.at(node->input(0)).toInt();
  bool go_on = values_.at(node->input(1)).toBool();
  std::vector<IValue> carried;
  for (std::size_t i = 2; i < node->inputs().size(); ++i) carried.push_back(values_.at(node->input(i)));
  const auto enter = [&](std::int64_t trip) {
    values_[body->inputs()[0]] = trip;
    for (std::size_t c = 0; c < carried.size(); ++c) values_[body->inputs()[c + 1]] = carried[c];
    if (round_hook_) round_hook_(body);
  };
  std::int64_t trip = 0;
  for (; trip < trips && go_on; ++trip) {
    enter(trip);
    runBlock(body);
    go_on = values_.at(body->outputs()[0]).toBool();
    for (std::size_t c = 0; c < carried.size(); ++c) carried[c] = values_.at(body->outputs()[c + 1]);
  }
  enter(trip);
  store(node, std::move(carried));
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
