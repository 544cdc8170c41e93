// The list follows CodeImpl::emitNode of torch/csrc/jit/runtime/interpreter/code_impl.h (PyTorch 1.13 … 2.9).
#include "core/torch/interpreted_node.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace ipex_studio {

using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;

bool isInterpreterInstruction(c10::Symbol kind) {
  static const std::unordered_set<std::string> kKinds = {
      // Control flow and calls.
      "prim::If", "prim::Loop", "prim::CallFunction", "prim::CallMethod", "prim::fork", "aten::wait", "prim::awaitable",
      "prim::Enter", "prim::Exit", "aten::warn", "prim::Drop",
      // Objects and containers.
      "prim::CreateObject", "prim::GetAttr", "prim::SetAttr", "prim::ListConstruct", "prim::ListUnpack",
      "prim::DictConstruct", "prim::TupleConstruct", "prim::TupleUnpack", "prim::TupleSlice", "prim::Uninitialized",
      // Types, as the profiling executor asks for them.
      "prim::isinstance", "prim::TypeCheck", "prim::BailOut", "prim::profile", "prim::profile_ivalue", "prim::Guard",
      // Values that stand in a table.
      "prim::Constant", "prim::Param", "prim::Return"};
  return kKinds.count(kind.toQualString()) != 0;
}

InterpretedNode::InterpretedNode(Node* node) {
  const auto graph = std::make_shared<Graph>();
  std::unordered_map<const Value*, Value*> given;
  for (const Value* input : node->inputs()) {
    if (given.count(input) != 0) continue;
    if (input->node()->kind() == c10::prim::Constant) {
      // A function is known by its constant alone.
      given[input] =
          graph->insertNode(graph->createClone(const_cast<Node*>(input->node()), [](Value* value) { return value; }))
              ->output();
    } else {
      given[input] = graph->addInput()->setType(input->type());
      operands_.push_back(input);
    }
  }
  Node* copy = graph->insertNode(graph->createClone(node, [&](Value* value) { return given.at(value); }));
  for (Value* output : copy->outputs()) graph->registerOutput(output);
  code_ = torch::jit::Code(graph, "<one node>");
}

void InterpretedNode::run(torch::jit::Stack& stack) const { torch::jit::InterpreterState(code_).run(stack); }

}  // namespace ipex_studio
