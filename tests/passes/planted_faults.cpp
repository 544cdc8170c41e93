// See planted_faults.h.
#include "tests/passes/planted_faults.h"

#include <algorithm>
#include <unordered_map>

#include "core/graph/fused_op.h"
#include "core/lower/region_object.h"
#include "core/op/plan_spec.h"

namespace ipex_studio::testing {
namespace {

using torch::jit::Graph;
using torch::jit::IValue;
using torch::jit::Module;
using torch::jit::Node;
using torch::jit::Value;

// Gives the readers of the node's result `kind(result, further…)` in its place.
void wrapResult(Node* node, const char* kind, const std::vector<IValue>& further) {
  Graph& graph = *node->owningGraph();
  torch::jit::WithInsertPoint behind(node->next());
  std::vector<torch::jit::NamedValue> arguments{torch::jit::NamedValue(node->output())};
  for (const IValue& value : further) arguments.emplace_back(graph.insertConstant(value));
  Value* wrapped = graph.insert(c10::Symbol::fromQualString(kind), arguments);
  node->output()->replaceAllUsesAfterNodeWith(wrapped->node(), wrapped);
}

bool scaleResult(Node* node) {
  wrapResult(node, "aten::mul", {1.25});
  return true;
}

bool roundResult(Node* node) {
  Graph& graph = *node->owningGraph();
  torch::jit::WithInsertPoint behind(node->next());
  Value* no = graph.insertConstant(false);
  const auto to = c10::Symbol::fromQualString("aten::to");
  Value* low = graph.insert(to, {node->output(), static_cast<std::int64_t>(at::kBFloat16), no, no});
  Value* back = graph.insert(to, {low, static_cast<std::int64_t>(at::kFloat), no, no});
  node->output()->replaceAllUsesAfterNodeWith(back->node(), back);
  return true;
}

at::Tensor spoilt(const at::Tensor& weight, FaultKind kind) {
  switch (kind) {
    case FaultKind::kScale:
      return weight * 1.25;
    case FaultKind::kLayout:
      return weight.dim() > 1 && weight.size(0) == weight.size(1) ? weight.transpose(0, 1).contiguous()
                                                                  : weight.flip({0});
    case FaultKind::kRounding:
      return weight.to(at::kBFloat16).to(weight.scalar_type());
    case FaultKind::kOperand:
      return weight.neg();
    case FaultKind::kWeight:
      break;
  }
  at::Tensor changed = weight.clone();
  changed.select(0, changed.size(0) / 2).add_(0.5);
  return changed;
}

bool isFloats(const at::Tensor& tensor) { return tensor.scalar_type() == at::kFloat && tensor.numel() > 3; }

// Constants of plans may also be integers that stand for floats.
bool isWeight(const at::Tensor& tensor) {
  return isFloats(tensor) || (tensor.scalar_type() == at::kChar && tensor.numel() > 3);
}

at::Tensor spoiltWeight(const at::Tensor& weight, FaultKind kind) {
  if (isFloats(weight)) return spoilt(weight, kind);
  return (spoilt(weight.to(at::kFloat) / 64, kind) * 64).round().clamp(-127, 127).to(at::kChar);
}

bool spoilWeight(Node* node, FaultKind kind) {
  for (std::size_t i = 0; i < node->inputs().size(); ++i) {
    const auto weight = constantTensor(node->input(i));
    if (!weight || !isFloats(*weight)) continue;
    const torch::jit::WithInsertPoint point(node);
    node->replaceInput(i, node->owningGraph()->insertConstant(spoilt(*weight, kind)));
    return true;
  }
  return false;
}

// Makes the node read an earlier value of the same sizes in the place of an operand.
bool takeAnotherOperand(Node* node) {
  for (std::size_t i = 0; i < node->inputs().size(); ++i) {
    Value* operand = node->input(i);
    const auto sizes = knownSizes(operand);
    if (!sizes || operand->node()->kind() == c10::prim::Constant) continue;
    for (Node* earlier : node->owningBlock()->nodes()) {
      if (earlier == node) break;
      if (earlier->kind() == c10::prim::Constant || earlier->outputs().size() != 1) continue;
      if (earlier->output() == operand || knownSizes(earlier->output()) != sizes ||
          knownDtype(earlier->output()) != knownDtype(operand))
        continue;
      node->replaceInput(i, earlier->output());
      return true;
    }
  }
  return false;
}

bool exchangeOperands(Node* node) {
  static const std::vector<std::string> kOrdered = {"aten::sub", "aten::div", "aten::matmul",
                                                    "aten::bmm", "aten::cat", "aten::pow"};
  if (std::find(kOrdered.begin(), kOrdered.end(), node->kind().toQualString()) == kOrdered.end()) return false;
  Node* holder = node->input(0)->node()->kind() == c10::prim::ListConstruct ? node->input(0)->node() : node;
  if (holder->inputs().size() < 2 || holder->input(0) == holder->input(1)) return false;
  if (knownSizes(holder->input(0)) != knownSizes(holder->input(1))) return false;
  Value* first = holder->input(0);
  holder->replaceInput(0, holder->input(1));
  holder->replaceInput(1, first);
  return true;
}

std::vector<Node*> nodesOf(Graph& graph) {
  std::vector<Node*> nodes;
  for (Node* node : allNodes(graph)) nodes.push_back(node);
  return nodes;
}

// The origins of a rewritten node, at the top level or inside of a block.
std::vector<OriginId>& originsOf(OptimizedModel& model, const std::vector<Node*>& nodes, std::size_t place) {
  const torch::jit::Block* top = nodes[place]->owningGraph()->block();
  const bool is_top = nodes[place]->owningBlock() == top;
  const auto before = std::count_if(nodes.begin(), nodes.begin() + static_cast<std::ptrdiff_t>(place),
                                    [&](const Node* node) { return (node->owningBlock() == top) == is_top; });
  return (is_top ? model.rewritten_origins : model.inner_origins).at(static_cast<std::size_t>(before));
}

// Sees whether a rewrite was made.
class RewriteWatch : public Observer {
 public:
  RewriteWatch(Observer& next, const Remark& wanted) : next_(next), wanted_(wanted) {}
  void onPass(const PassRecord& pass) override { next_.onPass(pass); }
  void onRemark(const Remark& remark) override {
    seen = seen || (remark.kind == RemarkKind::kApplied && remark.pass == wanted_.pass &&
                    remark.origins == wanted_.origins && remark.text == wanted_.text);
    next_.onRemark(remark);
  }

  bool seen = false;

 private:
  Observer& next_;
  const Remark& wanted_;
};

class RemarkList : public Observer {
 public:
  void onRemark(const Remark& remark) override {
    if (remark.kind == RemarkKind::kApplied && remark.pass != kLowerToPlanName) remarks.push_back(remark);
  }
  std::vector<Remark> remarks;
};

OptimizedModel interpreted(const Module& original, const Inputs& inputs, OptimizeOptions options, Observer& observer) {
  options.plan_regions = false;
  return optimizeModel(original, inputs, options, observer);
}

// Place of the last node with this origin; -1: there is none.
std::ptrdiff_t placeOf(OptimizedModel& model, OriginId id) {
  const auto nodes = nodesOf(*model.rewritten.get_method("forward").graph());
  for (std::size_t n = nodes.size(); n-- > 0;) {
    const std::vector<OriginId>& ids = originsOf(model, nodes, n);
    if (!ids.empty() && ids.back() == id) return static_cast<std::ptrdiff_t>(n);
  }
  return -1;
}

bool spoilPlace(Module& module, std::ptrdiff_t place, FaultKind kind) {
  const auto nodes = nodesOf(*module.get_method("forward").graph());
  return place >= 0 && place < static_cast<std::ptrdiff_t>(nodes.size()) &&
         spoilNode(nodes[static_cast<std::size_t>(place)], kind);
}

// The same where the new nodes need the origin of the spoilt one.
void spoilRewritten(OptimizedModel& model, std::ptrdiff_t place, FaultKind kind, OriginId id) {
  Graph& graph = *model.rewritten.get_method("forward").graph();
  const auto before = nodesOf(graph);
  std::unordered_map<const Node*, std::vector<OriginId>> known;
  for (std::size_t n = 0; n < before.size(); ++n) known[before[n]] = originsOf(model, before, n);
  if (!spoilPlace(model.rewritten, place, kind)) return;
  model.rewritten_origins.clear();
  model.inner_origins.clear();
  for (const Node* node : nodesOf(graph)) {
    const auto found = known.find(node);
    (node->owningBlock() == graph.block() ? model.rewritten_origins : model.inner_origins)
        .push_back(found == known.end() ? std::vector<OriginId>{id} : found->second);
  }
}

// The state of a region, to be put back with other constants.
struct RegionState {
  std::string attribute;
  PlanSpec plan;
  std::vector<at::Tensor> constants;
};

std::vector<RegionState> regionStates(const Module& module) {
  std::vector<RegionState> states;
  for (std::size_t r = 0; module.hasattr("region_" + std::to_string(r)); ++r) {
    const std::string name = "region_" + std::to_string(r);
    const IValue saved = callRegion(module.attr(name), "__getstate__");
    const auto& parts = saved.toTupleRef().elements();
    states.push_back({name, planSpecFromText(parts.at(0).toStringRef()), parts.at(1).toTensorVector()});
  }
  return states;
}

std::ptrdiff_t readersOf(const PlanSpec& plan, std::int32_t value) {
  return std::count_if(plan.nodes.begin(), plan.nodes.end(), [value](const PlanNode& node) {
    return std::find(node.src.begin(), node.src.end(), value) != node.src.end();
  });
}

// The first constant of floats that an operation reads alone; -1: none.
std::int32_t constantOf(const PlanSpec& plan, const PlanNode& node, const std::vector<at::Tensor>& constants) {
  for (const std::int32_t source : node.src) {
    if (readersOf(plan, source) != 1) continue;
    const auto place = source - static_cast<std::int32_t>(plan.inputs.size());
    if (place >= 0 && place < static_cast<std::int32_t>(constants.size()) &&
        isWeight(constants[static_cast<std::size_t>(place)]))
      return place;
  }
  return -1;
}

// Spoils the constant of the planned operation of the first of these origins, whatever is fused with it in another
// precision; false if it is not planned.
bool spoilPlan(Module& module, const std::vector<OriginId>& ids, FaultKind kind) {
  for (RegionState& state : regionStates(module)) {
    for (const PlanNode& node : state.plan.nodes) {
      const auto& own = node.origins;
      if (node.is_int || std::find(own.begin(), own.end(), ids.front()) == own.end()) continue;
      const std::int32_t place = constantOf(state.plan, node, state.constants);
      if (place < 0) continue;
      at::Tensor& constant = state.constants[static_cast<std::size_t>(place)];
      constant = spoiltWeight(constant, kind);
      module.setattr(state.attribute, makeRegionObject(planSpecToText(state.plan), state.constants));
      return true;
    }
  }
  return false;
}

}  // namespace

const char* faultName(FaultKind kind) {
  switch (kind) {
    case FaultKind::kScale:
      return "scale";
    case FaultKind::kWeight:
      return "weight";
    case FaultKind::kLayout:
      return "layout";
    case FaultKind::kRounding:
      return "rounding";
    case FaultKind::kOperand:
      return "operand";
  }
  return "";
}

bool spoilNode(Node* node, FaultKind kind) {
  if (node->outputs().size() != 1 || node->output()->type()->kind() != c10::TypeKind::TensorType) return false;
  switch (kind) {
    case FaultKind::kScale:
      return scaleResult(node);
    case FaultKind::kWeight:
      return spoilWeight(node, kind);
    case FaultKind::kLayout:
      wrapResult(node, "aten::flip", {std::vector<std::int64_t>{-1}});
      return true;
    case FaultKind::kRounding:
      return roundResult(node);
    case FaultKind::kOperand:
      return exchangeOperands(node) || takeAnotherOperand(node);
  }
  return false;
}

std::int64_t countRewrites(const Module& original, const Inputs& inputs) {
  Observer silent;
  return interpreted(original, inputs, {}, silent).rewrites.rewrites;
}

std::optional<PlantedFault> plantBehindRewrite(const Module& original, const Inputs& inputs, std::int64_t rewrite,
                                               FaultKind kind) {
  RemarkList made;
  OptimizeOptions limited;
  limited.rewrite_limit = rewrite;
  OptimizedModel at_rewrite = interpreted(original, inputs, limited, made);
  if (static_cast<std::int64_t>(made.remarks.size()) != rewrite) return std::nullopt;
  const auto wanted = std::make_shared<Remark>(made.remarks.back());
  if (wanted->origins.empty()) return std::nullopt;
  PlantedFault fault;
  fault.blame = at_rewrite.rewrites.last;
  fault.node = wanted->origins.back();
  // A later rewrite would be to blame for what this one does not show yet.
  if (!spoilPlace(at_rewrite.rewritten, placeOf(at_rewrite, fault.node), kind)) return std::nullopt;
  fault.model.original = original;
  fault.model.steps = {inputs};
  const OriginId id = fault.node;
  fault.model.make = [original, inputs, wanted, kind, id](const OptimizeOptions& options, Observer& observer) {
    RewriteWatch watch(observer, *wanted);
    OptimizedModel model = interpreted(original, inputs, options, watch);
    if (!watch.seen) return model;
    const std::ptrdiff_t place = placeOf(model, id);
    spoilPlace(model.module, place, kind);
    spoilRewritten(model, place, kind, id);
    return model;
  };
  Observer silent;
  OptimizedModel whole = interpreted(original, inputs, {}, silent);
  const std::ptrdiff_t place = placeOf(whole, id);
  return spoilPlace(whole.rewritten, place, kind) ? std::optional<PlantedFault>(fault) : std::nullopt;
}

std::optional<PlantedFault> plantInPlan(const Module& original, const Inputs& inputs, std::size_t operation,
                                        FaultKind kind, const OptimizeOptions& planned) {
  Observer silent;
  const OptimizedModel whole = optimizeModel(original, inputs, planned, silent);
  std::vector<std::vector<OriginId>> operations;
  for (const RegionState& state : regionStates(whole.module)) {
    for (const PlanNode& node : state.plan.nodes) {
      if (!node.is_int && !node.origins.empty() && constantOf(state.plan, node, state.constants) >= 0)
        operations.push_back(node.origins);
    }
  }
  if (operation >= operations.size()) return std::nullopt;
  const std::vector<OriginId> ids = operations[operation];
  PlantedFault fault;
  fault.blame = rewriteName(kLowerToPlanName, ids);
  fault.node = ids.back();
  fault.model.original = original;
  fault.model.steps = {inputs};
  fault.model.options = planned;
  fault.model.rule = planned.precision;
  fault.model.make = [original, inputs, ids, kind](const OptimizeOptions& options, Observer& observer) {
    OptimizedModel model = optimizeModel(original, inputs, options, observer);
    spoilPlan(model.module, ids, kind);
    return model;
  };
  return fault;
}

}  // namespace ipex_studio::testing
