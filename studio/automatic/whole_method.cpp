#include "studio/automatic/whole_method.h"

#include <ATen/autocast_mode.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "passes/optimize.h"

namespace ipex_studio {
namespace {

using torch::jit::IValue;
using torch::jit::Stack;

constexpr double kLargestError = 1e-4;  // of the largest value

thread_local int running = 0;

struct Running {
  Running() { ++running; }
  ~Running() { --running; }
};

// Plans serve all sizes of the same dtypes and ranks. Empty: these tensors get none.
std::string formOf(const std::vector<IValue>& tensors) {
  std::string form;
  for (const IValue& value : tensors) {
    if (!value.isTensor() || !value.toTensor().defined()) return {};
    const at::Tensor& tensor = value.toTensor();
    if (!tensor.device().is_cpu() || tensor.layout() != at::kStrided) return {};
    if (at::GradMode::is_enabled() && tensor.requires_grad()) return {};
    form += static_cast<char>('a' + static_cast<int>(tensor.scalar_type()));
    form += static_cast<char>('a' + tensor.dim());
  }
  return form;
}

bool isNear(const IValue& result, const IValue& wanted) {
  if (!result.isTensor() || !wanted.isTensor()) return false;
  const at::Tensor r = result.toTensor(), w = wanted.toTensor();
  if (r.sizes() != w.sizes() || r.scalar_type() != w.scalar_type()) return false;
  if (w.numel() == 0 || !w.is_floating_point()) return at::equal(r, w);
  const at::Tensor known = w.masked_select(at::isfinite(w));
  const double largest = known.numel() == 0 ? 0 : known.abs().max().item<double>();
  return at::allclose(r, w, /*rtol=*/0, kLargestError * largest, /*equal_nan=*/true);
}

std::vector<IValue> partsOf(const IValue& result, std::size_t count) {
  if (count == 1) return {result};
  return result.toTupleRef().elements().vec();
}

// A module whose forward is the graph.
torch::jit::Module moduleOf(const std::shared_ptr<torch::jit::Graph>& graph) {
  torch::jit::Module module("WholeMethod");
  const auto copy = graph->copy();
  copy->inputs()[0]->setType(module.type());
  if (copy->outputs().size() > 1) {
    auto* tuple = copy->appendNode(copy->createTuple(copy->outputs()));
    while (!copy->outputs().empty()) copy->eraseOutput(copy->outputs().size() - 1);
    copy->registerOutput(tuple->output());
  }
  const c10::QualifiedName name(*module.type()->name(), "forward");
  module.type()->addMethod(module._ivalue()->compilation_unit()->create_function(name, copy));
  return module;
}

}  // namespace

bool WholeMethod::isRunning() { return running > 0; }

WholeMethod::WholeMethod(const std::shared_ptr<torch::jit::Graph>& graph)
    : graph_(graph), executor_(graph, "whole_method") {}

void WholeMethod::run(Stack& stack) {
  const Running here;
  const std::size_t count = graph_->inputs().size();
  const Inputs tensors(stack.end() - static_cast<std::ptrdiff_t>(count) + 1, stack.end());
  if (const auto plan = planFor(tensors)) {
    torch::jit::drop(stack, count);
    for (IValue& part : partsOf((*plan)(tensors), graph_->outputs().size())) stack.push_back(std::move(part));
  } else {
    executor_.run(stack);
  }
}

std::optional<torch::jit::Method> WholeMethod::planFor(const Inputs& tensors) {
  const std::string form = formOf(tensors);
  if (form.empty() || at::autocast::is_cpu_enabled()) return std::nullopt;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto [known, fresh] = plans_.try_emplace(form);
    if (!fresh) return known->second;  // none while another thread makes it, and this one need not wait for it
  }
  const std::optional<torch::jit::Method> plan = makePlan(tensors);
  const std::lock_guard<std::mutex> lock(mutex_);
  return plans_[form] = plan;
}

std::optional<torch::jit::Method> WholeMethod::makePlan(const Inputs& tensors) {
  const torch::NoGradGuard no_grad;
  try {
    Inputs inputs;
    for (const IValue& value : tensors) inputs.emplace_back(value.toTensor().clone());
    const Inputs wanted = runAsItIs(inputs);
    for (const IValue& value : inputs) {
      if (value.toTensor()._version() != 0) return std::nullopt;  // it writes to its arguments
    }
    const torch::jit::Module planned = optimize(moduleOf(graph_), inputs);
    const torch::jit::Method plan = planned.get_method("forward");
    const Inputs results = partsOf(torch::jit::Method(plan)(inputs), wanted.size());
    if (!std::equal(results.begin(), results.end(), wanted.begin(), wanted.end(), isNear)) return std::nullopt;
    return plan;
  } catch (const std::exception&) {  // whatever it is, the method itself runs
    return std::nullopt;
  }
}

WholeMethod::Inputs WholeMethod::runAsItIs(const Inputs& tensors) {
  Stack stack{IValue()};
  stack.insert(stack.end(), tensors.begin(), tensors.end());
  executor_.run(stack);
  return stack;
}

}  // namespace ipex_studio
