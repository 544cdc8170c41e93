#include "core/lower/region_code.h"

#include "core/graph/fused_op.h"
#include "core/lower/lowering_builder.h"

namespace ipex_studio {
namespace {

using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;

class CodeCopy {
 public:
  CodeCopy(Graph& graph, const OriginTable& origins) : graph_(graph), origins_(origins) {}

  void addInput(const Value* value, const std::unordered_map<Value*, Value*>& replaced) {
    Value* input = graph_.addInput()->setType(value->type());
    if (lowering::isComplex(value)) {
      input->setType(c10::TensorType::get());
      input = append("aten::view_as_complex", input, value->type());
    }
    copies_[value] = input;
    const auto found = replaced.find(const_cast<Value*>(value));
    if (found != replaced.end()) copies_[found->second] = input;
  }

  // Copies the node behind what it reads; false if that is not known here.
  bool add(Node* node) {
    std::vector<Node*> open{node};  // no recursion: sizes may be a long chain
    while (!open.empty()) {
      Node* next = open.back();
      bool ready = true;
      for (Value* input : next->inputs()) {
        if (copies_.count(input) != 0) continue;
        Node* producer = input->node();
        if (producer->kind() == c10::prim::Constant || carriesOperands(producer) || isSizeArithmetic(producer)) {
          open.push_back(producer);
          ready = false;
        } else if (next->kind() == c10::aten::size || !addPlaceholder(input)) {
          return false;
        }
      }
      if (!ready) continue;
      open.pop_back();
      if (next->outputs().empty() || copies_.count(next->output(0)) == 0) copy(next);
    }
    return true;
  }

  // Origins of the nodes of the copy, in order.
  std::vector<std::vector<OriginId>> takeOrigins() { return std::move(node_origins_); }

  bool addOutput(const Value* value) {
    const auto found = copies_.find(value);
    if (found == copies_.end()) return false;
    Value* output = found->second;
    if (lowering::isComplex(value))
      output =
          append("aten::view_as_real", append("aten::resolve_conj", output, value->type()), c10::TensorType::get());
    graph_.registerOutput(output);
    return true;
  }

 private:
  Value* append(const char* kind, Value* operand, const c10::TypePtr& type) {
    Node* node = graph_.appendNode(graph_.create(c10::Symbol::fromQualString(kind), {operand}));
    node_origins_.emplace_back();
    return node->output()->setType(type);
  }

  void copy(Node* node) {
    Node* made = graph_.appendNode(graph_.createClone(node, [&](Value* value) { return copies_.at(value); }));
    for (std::size_t o = 0; o < node->outputs().size(); ++o) {
      made->output(o)->setType(node->output(o)->type());
      copies_[node->output(o)] = made->output(o);
    }
    node_origins_.push_back(origins_.of(node));
  }

  // A plan does not compute from a value that it does not get: the node takes the dtype alone.
  bool addPlaceholder(const Value* value) {
    const auto dtype = knownDtype(value);
    const auto sizes = knownSizes(value);
    if (value->type()->kind() != c10::TypeKind::TensorType || !dtype || !sizes) return false;
    const std::vector<std::int64_t> ones(sizes->size(), 1);
    copies_[value] = graph_.insertConstant(at::zeros(ones, at::TensorOptions(*dtype)));
    node_origins_.emplace_back();
    return true;
  }

  Graph& graph_;
  const OriginTable& origins_;
  std::unordered_map<const Value*, Value*> copies_;
  std::vector<std::vector<OriginId>> node_origins_;
};

}  // namespace

RegionCode copyRegionCode(const std::vector<const PlacedNode*>& nodes, const RegionSpec& spec,
                          const std::vector<Value*>& outputs, const std::unordered_map<Value*, Value*>& replaced,
                          const OriginTable& origins) {
  RegionCode code;
  code.nodes = static_cast<int>(nodes.size());
  code.constant_sources = spec.constant_sources;
  const auto graph = std::make_shared<Graph>();
  CodeCopy copy(*graph, origins);
  for (const Value* value : spec.tensor_inputs) copy.addInput(value, replaced);
  for (const Value* value : spec.int_inputs) copy.addInput(value, replaced);
  for (const PlacedNode* placed : nodes) {
    if (!copy.add(placed->node)) return code;
  }
  for (const Value* output : outputs) {
    if (!copy.addOutput(output)) return code;
  }
  code.graph = graph;
  code.origins = copy.takeOrigins();
  return code;
}

}  // namespace ipex_studio
