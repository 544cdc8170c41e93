// Nodes that libtorch's interpreter has instructions for instead of operators, and running any one node as it does.
#pragma once

#include <vector>

#include <torch/csrc/jit/runtime/interpreter.h>

#include "core/torch/torch_compat.h"

namespace ipex_studio {

// True for kinds that have no operator, or one that only says that the interpreter implements it: calls, objects,
// containers, control flow, forks, context managers, warnings. Node::getOperation() is of no use for them. Thread-safe.
bool isInterpreterInstruction(c10::Symbol kind);

// One node without blocks, run by libtorch's interpreter in a graph of its own. Anything that the interpreter runs can
// be run so but prim::Enter and prim::Exit, which belong together across nodes. Not thread-safe.
class InterpretedNode {
 public:
  // Throws c10::Error if the interpreter does not know the kind.
  explicit InterpretedNode(torch::jit::Node* node);

  // Operands that run() takes, in its order: those of the node that are no constants, each once.
  const std::vector<const torch::jit::Value*>& operands() const { return operands_; }
  // Leaves the node's results on the stack. Passes on what the node throws.
  void run(torch::jit::Stack& stack) const;

 private:
  std::vector<const torch::jit::Value*> operands_;
  torch::jit::Code code_;
};

}  // namespace ipex_studio
