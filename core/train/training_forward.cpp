#include "core/train/training_forward.h"

#include <torch/csrc/jit/passes/inliner.h>
#include <torch/csrc/jit/runtime/graph_executor.h>

#include "core/train/training_layers.h"

namespace ipex_studio {
namespace {

at::MemoryFormat weightOrder(const at::Tensor& weight) {
  return weight.dim() == 5 ? at::MemoryFormat::ChannelsLast3d : at::MemoryFormat::ChannelsLast;
}

// The parameter of the module that `value` reads; undefined if it is none.
at::Tensor parameterOf(const torch::jit::Value* value, const torch::jit::Module& module) {
  std::vector<std::string> path;
  while (value->node()->kind() == c10::prim::GetAttr) {
    path.push_back(value->node()->s(c10::attr::name));
    value = value->node()->input(0);
  }
  if (path.empty() || value != value->owningGraph()->inputs().at(0)) return {};
  c10::intrusive_ptr<c10::ivalue::Object> owner = module._ivalue();
  for (std::size_t i = path.size() - 1; i > 0; --i) {
    const torch::jit::IValue part = owner->getAttr(path[i]);
    if (!part.isObject()) return {};
    owner = part.toObject();
  }
  const torch::jit::IValue found = owner->getAttr(path.front());
  return found.isTensor() ? found.toTensor() : at::Tensor();
}

bool isForWeightOrder(const at::Tensor& weight) {
  return weight.defined() && (weight.dim() == 4 || weight.dim() == 5) && weight.scalar_type() == at::kFloat &&
         weight.is_leaf() && weight.is_contiguous() && !weight.is_contiguous(weightOrder(weight));
}

}  // namespace

TrainingForward::TrainingForward(torch::jit::Module module, bool by_kernels)
    : module_(std::move(module)), graph_(module_.get_method("forward").graph()->copy()) {
  torch::jit::Inline(*graph_);
  const TrainingLayers layers = by_kernels ? useTrainingLayers(*graph_) : TrainingLayers();
  if (!layers.changed) return;
  for (const torch::jit::Value* value : layers.weights) {
    at::Tensor weight = parameterOf(value, module_);
    if (!isForWeightOrder(weight)) continue;
    weight.set_data(weight.detach().contiguous(weightOrder(weight)));
    weights_.push_back(weight);
  }
  executor_ = std::make_unique<torch::jit::GraphExecutor>(graph_, "forward");
}

torch::jit::Stack TrainingForward::operands(const Inputs& arguments) const {
  torch::jit::Stack stack{module_._ivalue()};
  stack.insert(stack.end(), arguments.begin(), arguments.end());
  module_.get_method("forward").function().getSchema().checkAndNormalizeInputs(stack, {});
  return stack;
}

torch::jit::IValue TrainingForward::operator()(const Inputs& arguments) {
  if (!executor_) return module_.forward(arguments);
  torch::jit::Stack stack = operands(arguments);
  executor_->run(stack);
  return stack.at(0);
}

torch::jit::IValue TrainingForward::timed(const Inputs& arguments, LayerTimer* timer) {
  return timer->forward(*graph_, operands(arguments));
}

TrainingForward::PlainOrder::PlainOrder(const TrainingForward& forward) {
  for (at::Tensor weight : forward.weights_) {
    moved_.emplace_back(weight, weight.detach());
    weight.set_data(weight.detach().contiguous());
  }
}

TrainingForward::PlainOrder::~PlainOrder() {
  for (auto& [weight, values] : moved_) weight.set_data(values);
}

}  // namespace ipex_studio
