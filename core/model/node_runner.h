// NodeRunner: executes a graph node by node, so that callers can read every value and time every node.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_map>
#include <utility>
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

  // Throws std::bad_optional_access for a value that is not there: dropped, or not computed yet.
  const torch::jit::IValue& valueOf(const torch::jit::Value* value) const { return values_[slots_.at(value)].value(); }
  // Puts another value in the place of one that was computed; to be called in a hook, or between steps.
  void setValue(const torch::jit::Value* value, torch::jit::IValue other);

 private:
  using Slot = std::uint32_t;  // place of a value in values_
  struct Step;
  // The steps of a block, which are its nodes without constants. What can be found out once is: looking values and
  // operators up takes longer than small operators do, and would count as time of the model.
  struct Code {
    std::vector<Step> steps;
    std::vector<Slot> inputs, outputs;
  };
  struct Step {
    enum class Way { kUnknown, kConstructor, kOperator, kInterpreter };
    torch::jit::Node* node = nullptr;
    Way way = Way::kUnknown;                         // found out when it runs
    bool takes_count = false;                        // true: it reads the number of its operands from the stack
    std::optional<torch::jit::Operation> operation;  // of an operator
    std::optional<InterpretedNode> interpreted;
    std::vector<Slot> inputs, outputs;
    std::vector<Slot> dead;  // dropped after it; top level only
    std::vector<Code> blocks;
  };

  Code codeOf(torch::jit::Block* block);
  Slot slotOf(const torch::jit::Value* value) { return slots_.try_emplace(value, slots_.size()).first->second; }
  void dropAfterLastUse();
  void runCode(Code& code);
  // Runs the node, calls the hook, and drops values that are dead then.
  void runNext(Step& step);
  void leaveContexts();
  void runNode(Step& step);
  void findWay(Step& step);
  void runIf(Step& step);
  void runLoop(Step& step);
  void runObject(Step& step);
  void enter(Step& step);
  void exit();
  void interpret(Step& step);
  void runConstructor(Step& step);
  void store(const Step& step, torch::jit::Stack&& results);
  // On stack_, which has its memory from earlier nodes.
  torch::jit::Stack& operands(const Step& step);
  const torch::jit::IValue& at(Slot slot) const { return values_[slot].value(); }

  torch::jit::Graph& graph_;
  Hook hook_;
  std::function<void(const torch::jit::Block*)> round_hook_;
  std::unordered_map<const torch::jit::Value*, Slot> slots_;
  std::vector<std::pair<Slot, torch::jit::IValue>> constants_;
  std::vector<std::optional<torch::jit::IValue>> values_;
  Code code_;
  torch::jit::Stack stack_;                  // of the node that runs, which has no blocks
  std::size_t next_ = 0;                     // step of the top level
  std::vector<torch::jit::IValue> entered_;  // context managers of prim::Enter whose prim::Exit has not come
};

// What the graph of a module's forward takes: the module, the inputs, and the defaults of all arguments behind them.
std::vector<torch::jit::IValue> graphArguments(const torch::jit::Module& module,
                                               const std::vector<torch::jit::IValue>& inputs);

// The same with copies of the inputs; `self`: the module, or a copy of it whose state may change.
std::vector<torch::jit::IValue> copiedArguments(const torch::jit::Module& module, const torch::jit::Module& self,
                                                const std::vector<torch::jit::IValue>& inputs);

}  // namespace ipex_studio
