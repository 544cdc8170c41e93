// NodeRunner: executes a graph node by node, so that callers can read every value and time every node.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

#include "core/torch/interpreted_node.h"
#include "core/torch/torch_compat.h"

namespace ipex_studio {

// Runs a graph as the interpreter does, with its effects in their order: operators, branches, loops, objects, context
// managers (`with`), forks, warnings. Values are dropped after their last use. Throws Error(kUnsupported) on a node
// kind that libtorch's interpreter does not know. Not thread-safe.
class NodeRunner {
 public:
  // Called after each node that is no constant; `runner.valueOf` returns its operands and results.
  using Hook = std::function<void(torch::jit::Node* node, std::int64_t begin_ns, std::int64_t elapsed_ns)>;

  explicit NodeRunner(torch::jit::Graph& graph, Hook hook = {});

  // `hook` is called before each round of a loop, and after the last one, as another round would begin; `valueOf`
  // returns what the body takes or would take.
  void onRound(std::function<void(const torch::jit::Block* body)> hook) { round_hook_ = std::move(hook); }

  // Takes `inputs` as the graph does (self first if the graph has one).
  std::vector<torch::jit::IValue> run(std::vector<torch::jit::IValue> inputs);
  // The same in steps, for callers that run two graphs side by side: begin(), then step(), which runs the next node of
  // the top level that is no constant and returns it, until it returns null; then results().
  void begin(std::vector<torch::jit::IValue> inputs);
  torch::jit::Node* step();
  std::vector<torch::jit::IValue> results() const;

  const torch::jit::IValue& valueOf(const torch::jit::Value* value) const { return values_.at(value); }
  // Puts another value in the place of one that was computed; to be called in a hook, or between steps.
  void setValue(const torch::jit::Value* value, torch::jit::IValue other) { values_[value] = std::move(other); }

 private:
  void runBlock(torch::jit::Block* block);
  // Runs the node if it is no constant, calls the hook, and drops values that are dead then.
  void runNext(torch::jit::Node* node);
  void leaveContexts();
  void runNode(torch::jit::Node* node);
  void runIf(torch::jit::Node* node);
  void runLoop(torch::jit::Node* node);
  void runObject(torch::jit::Node* node);
  void enter(torch::jit::Node* node);
  void exit();
  void interpret(torch::jit::Node* node);
  // How a node is run, found out once: looking an operator up takes longer than small operators do.
  struct Prepared {
    enum class Way { kConstructor, kOperator, kInterpreter };
    Way way = Way::kInterpreter;
    std::optional<torch::jit::Operation> operation;  // of an operator
    bool takes_count = false;                        // true: it reads the number of its operands from the stack
  };
  Prepared& prepared(torch::jit::Node* node);
  void runConstructor(torch::jit::Node* node);
  void store(torch::jit::Node* node, std::vector<torch::jit::IValue> results);
  torch::jit::Stack operands(torch::jit::Node* node) const;

  torch::jit::Graph& graph_;
  Hook hook_;
  std::function<void(const torch::jit::Block*)> round_hook_;
  torch::jit::Node* next_ = nullptr;  // of the top level, between steps
  std::unordered_map<const torch::jit::Value*, torch::jit::IValue> values_;
  std::unordered_map<const torch::jit::Node*, std::vector<const torch::jit::Value*>> dead_after_;  // top level
  std::unordered_map<const torch::jit::Node*, Prepared> prepared_;
  std::vector<torch::jit::IValue> entered_;  // context managers of prim::Enter whose prim::Exit has not come
  std::unordered_map<const torch::jit::Node*, InterpretedNode> interpreted_;
};

// What the graph of a module's forward takes: the module, the inputs, and the defaults of all arguments behind them.
std::vector<torch::jit::IValue> graphArguments(const torch::jit::Module& module,
                                               const std::vector<torch::jit::IValue>& inputs);

// The same with copies of the inputs; `self`: the module, or a copy of it whose state may change.
std::vector<torch::jit::IValue> copiedArguments(const torch::jit::Module& module, const torch::jit::Module& self,
                                                const std::vector<torch::jit::IValue>& inputs);

}  // namespace ipex_studio
