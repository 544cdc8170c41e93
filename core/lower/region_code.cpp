// Copies the nodes of a region into a graph.
#include "core/lower/region_code.h"

namespace ipex_studio {

using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;

namespace {

class CodeCopier {
 public:
  CodeCopier(const RegionLevels& levels, const OriginTable& origins)
      : levels_(levels), origins_(origins), graph_(std::make_shared<Graph>()) {}

  void addInput(Value* value, const c10::TypePtr& type, const std::unordered_map<Value*, Value*>& replaced) {
    Value* input = graph_->addInput()->setType(type);
    copies_[value] = input;
    const auto result = replaced.find(value);
    if (result != replaced.end()) copies_[result->second] = input;
  }

  // Copies a node after those that only carry its operands; false if it reads anything else that is not there.
  bool add(Node* root) {
    std::vector<Node*> open{root};
    while (!open.empty()) {
      Node* node = open.back();
      bool ready = true;
      for (Value* input : node->inputs()) {
        if (copies_.count(input) != 0) continue;
        if (!carries(input->node())) return false;
        open.push_back(input->node());
        ready = false;
      }
      if (!ready) continue;
      open.pop_back();
      if (node->outputs().empty() || copies_.count(node->output(0)) == 0) copy(node);
    }
    return true;
  }

  RegionCode finish(const std::vector<Value*>& outputs, int nodes) {
    for (const Value* output : outputs) graph_->registerOutput(copies_.at(output));
    return {std::move(graph_), std::move(node_origins_), nodes};
  }

 private:
  bool carries(const Node* node) const {
    if (node->kind() == c10::prim::Constant) return true;
    const auto place = levels_.placeOf(node);
    return place && levels_.nodes()[*place].transparent;
  }

  void copy(Node* node) {
    Node* made = graph_->appendNode(graph_->createClone(node, [&](Value* value) { return copies_.at(value); }));
    for (std::size_t o = 0; o < node->outputs().size(); ++o) copies_[node->output(o)] = made->output(o);
    node_origins_.push_back(origins_.of(node));
  }

  const RegionLevels& levels_;
  const OriginTable& origins_;
  std::shared_ptr<Graph> graph_;
  std::unordered_map<const Value*, Value*> copies_;
  std::vector<std::vector<OriginId>> node_origins_;
};

}  // namespace

RegionCode copyRegionCode(const RegionLevels& levels, const std::vector<const PlacedNode*>& nodes,
                          const RegionSpec& spec, const std::vector<Value*>& outputs,
                          const std::unordered_map<Value*, Value*>& replaced, const OriginTable& origins) {
  CodeCopier copier(levels, origins);
  for (Value* value : spec.tensor_inputs) copier.addInput(value, value->type(), replaced);
  for (Value* value : spec.int_inputs) copier.addInput(value, c10::IntType::get(), replaced);
  for (const PlacedNode* placed : nodes) {
    if (!copier.add(placed->node)) return {nullptr, {}, static_cast<int>(nodes.size())};
  }
  return copier.finish(outputs, static_cast<int>(nodes.size()));
}

}  // namespace ipex_studio
