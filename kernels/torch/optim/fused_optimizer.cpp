// The class ipex_studio::FusedOptimizer: parameters of an optimizer with their states, which one call steps all
// (kernels/optim). It reads gradients from the parameters, so that Python has no list to make for a step.
//
//   FusedOptimizer(str optimizer, bool fast, bool rounded)
//   set(Tensor[] parameters, Tensor[] states, Tensor[] companions, Tensor[] steps, int[] group_sizes)
//   step(float[] settings, float gradient_scale, float max_norm, bool skip_infinite, bool partly)
//       -> (float, int[], int[])
//   place_hooks()
//   step_in_backward(float[] settings)
//   after_backward() -> (int, int)
//
// parameters    of all groups, one group after the other; group_sizes says how many each has
// states        as many for each parameter as the settings of its group ask for, in the order of
//               kernels/optim/optimizer.h; empty tensors where a parameter has none yet. They are FP32.
// companions    for each parameter: a tensor without elements if it is FP32; if it is BF16, the lower halves of its
//               numbers (BF16 or int16); if it is BF16 or FP16, its FP32 master. With `rounded`, halves are those of
//               ParameterForm::kSplitRounded
// steps         for each parameter the number of steps done, one FP32 number, which a step raises
// settings      those of the first group, then those of the second, and so on
//
// step() does a step of all parameters that have a gradient. It returns the norm of all gradients (see optimizer_step),
// the numbers of parameters that have a gradient and no states yet, and of those it cannot step: other types, sparse
// gradients. If there are such, nothing has changed, but with `partly` those it cannot step are left out.
//
// place_hooks() puts hooks behind the nodes that accumulate gradients, and step_in_backward() lets them step: each
// parameter as soon as its gradient is complete, while that is in the cache. They free the gradient. Parameters that
// cannot be stepped keep theirs for step(). step() also ends what step_in_backward() allows, since settings may change
// before the next backward; hooks that run before it is called again leave their parameters to step(). after_backward()
// tells how many parameters the hooks have stepped since it was last called, and whose gradient came first; -1: none.
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>
#include <torch/custom_class.h>
#include <torch/library.h>

#include <cmath>
#include <mutex>

#include "kernels/torch/optim/optimizer_operands.h"

namespace ipex_studio {
namespace {

class FusedOptimizer;

// A hook that steps one parameter after its gradient was accumulated, while the optimizer lives.
std::unique_ptr<torch::autograd::FunctionPostHook> makeStepHook(FusedOptimizer* optimizer, std::size_t number);

// Calls may come from several threads: backward has its own.
class FusedOptimizer : public torch::CustomClassHolder {
 public:
  using Numbers = std::vector<std::int64_t>;

  FusedOptimizer(const std::string& optimizer, bool fast, bool rounded)
      : optimizer_(optimizerNamed(optimizer)), fast_(fast), rounded_(rounded) {}

  void set(std::vector<at::Tensor> parameters, std::vector<at::Tensor> states, std::vector<at::Tensor> companions,
           std::vector<at::Tensor> steps, Numbers group_sizes) {
    TORCH_CHECK(companions.size() == parameters.size() && steps.size() == parameters.size(),
                "FusedOptimizer takes a companion and a step for each of ", parameters.size(), " parameters.");
    for (const at::Tensor& step : steps) {
      TORCH_CHECK(step.scalar_type() == at::kFloat && step.numel() == 1 && isPlainCpu(step),
                  "FusedOptimizer takes steps as one FP32 number each.");
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    parameters_ = std::move(parameters);
    states_ = std::move(states);
    companions_ = std::move(companions);
    steps_ = std::move(steps);
    group_sizes_ = std::move(group_sizes);
  }

  std::tuple<double, Numbers, Numbers> step(const std::vector<double>& settings, double gradient_scale, double max_norm,
                                            bool skip_infinite, bool partly) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const at::NoGradGuard no_grad;
    const std::vector<std::vector<double>> groups = groupsOf(settings);
    hooks_step_ = false;
    Step now;
    gather(groups, &now);
    if (!now.lacking.empty() || (!now.unsuited.empty() && !partly)) return {0, now.lacking, now.unsuited};
    const double norm = updateParameters(optimizer_, groups, now.tensors,
                                         updateOptions(fast_, gradient_scale, max_norm, skip_infinite));
    if (skip_infinite && !std::isfinite(norm)) return {norm, {}, now.unsuited};
    finish(&now);
    return {norm, {}, now.unsuited};
  }

  void placeHooks() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!accumulators_.empty()) return;
    for (std::size_t number = 0; number < parameters_.size(); ++number) {
      if (!parameters_[number].requires_grad() || !parameters_[number].is_leaf()) continue;
      auto accumulator = torch::autograd::impl::grad_accumulator(parameters_[number]);
      accumulator->add_post_hook(makeStepHook(this, number));
      accumulators_.push_back(std::move(accumulator));  // PyTorch does not keep it, nor its hooks
    }
  }

  void stepInBackward(const std::vector<double>& settings) {
    const std::lock_guard<std::mutex> lock(mutex_);
    hooks_step_ = true;
    std::vector<std::vector<double>> groups = groupsOf(settings);
    if (groups == hook_settings_) return;
    hook_settings_ = std::move(groups);
    hook_states_.resize(parameters_.size());
    forEachParameter(hook_settings_, [&](std::size_t number, std::size_t group, at::TensorList states) {
      hook_states_[number] = {static_cast<std::int32_t>(group), states.vec()};
    });
  }

  std::tuple<std::int64_t, std::int64_t> afterBackward() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return {std::exchange(hook_steps_, 0), std::exchange(first_gradient_, -1)};
  }

  // What StepHook does.
  void stepOne(std::size_t number) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (first_gradient_ < 0) first_gradient_ = static_cast<std::int64_t>(number);
    if (!hooks_step_) return;
    const at::NoGradGuard no_grad;
    Step now;
    gatherOne(hook_states_[number].group, number, hook_states_[number].states, &now);
    if (now.tensors.empty()) return;
    updateParameters(optimizer_, hook_settings_, now.tensors, updateOptions(fast_, 1, 0, false));
    finish(&now);
    parameters_[number].mutable_grad().reset();
    ++hook_steps_;
  }

 private:
  struct Step {
    std::vector<OptimizerTensor> tensors;
    std::vector<std::size_t> numbers;  // of their parameters
    Numbers lacking, unsuited;
    DenseTensors dense;
  };

  struct HookStates {
    std::int32_t group = 0;
    std::vector<at::Tensor> states;
  };

  void finish(Step* now) const {
    now->dense.writeBack();
    for (const std::size_t number : now->numbers) {
      raiseVersion(parameters_[number]);
      *steps_[number].data_ptr<float>() += 1;
    }
  }

  std::vector<std::vector<double>> groupsOf(const std::vector<double>& settings) const {
    const std::size_t each = static_cast<std::size_t>(settingCount(optimizer_));
    TORCH_CHECK(settings.size() == each * group_sizes_.size(), "FusedOptimizer takes ", each, " settings for each of ",
                group_sizes_.size(), " groups, not ", settings.size(), " in all.");
    std::vector<std::vector<double>> groups;
    for (auto at = settings.begin(); at != settings.end(); at += static_cast<std::ptrdiff_t>(each)) {
      groups.emplace_back(at, at + static_cast<std::ptrdiff_t>(each));
    }
    return groups;
  }

  void gather(const std::vector<std::vector<double>>& groups, Step* now) const {
    now->tensors.reserve(parameters_.size());
    now->numbers.reserve(parameters_.size());
    forEachParameter(groups, [&](std::size_t number, std::size_t group, at::TensorList states) {
      gatherOne(static_cast<std::int32_t>(group), number, states, now);
    });
  }

  // Calls fn(number, group, states) for each parameter.
  template <typename Fn>
  void forEachParameter(const std::vector<std::vector<double>>& groups, const Fn& fn) const {
    std::size_t number = 0, state = 0;
    for (std::size_t group = 0; group < groups.size(); ++group) {
      const std::size_t each = static_cast<std::size_t>(stateCount(optimizer_, groups[group].data()));
      for (std::int64_t i = 0; i < group_sizes_[group]; ++i, ++number, state += each) {
        TORCH_CHECK(number < parameters_.size() && state + each <= states_.size(),
                    "FusedOptimizer has other settings or groups than its parameters were given for.");
        fn(number, group, at::TensorList(states_).slice(state, each));
      }
    }
  }

  void gatherOne(std::int32_t group, std::size_t number, at::TensorList states, Step* now) const {
    const at::Tensor &parameter = parameters_[number], &gradient = parameter.grad();
    if (!gradient.defined()) return;
    if (!canStep(parameter, gradient, companions_[number])) return now->unsuited.push_back(std::int64_t(number));
    for (std::size_t j = 0; j < states.size(); ++j) {
      if (!isState(states[j], parameter, static_cast<int>(j))) return now->lacking.push_back(std::int64_t(number));
    }
    now->tensors.push_back(operandsOf(number, gradient, states, &now->dense));
    now->tensors.back().group = group;
    now->tensors.back().step = static_cast<std::int64_t>(*steps_[number].data_ptr<float>()) + 1;
    now->numbers.push_back(number);
  }

  bool isState(const at::Tensor& state, const at::Tensor& parameter, int number) const {
    const bool fits = isScalarState(optimizer_, number) ? state.numel() == 1 : state.sizes() == parameter.sizes();
    return fits && state.scalar_type() == at::kFloat && isPlainCpu(state);
  }

  OptimizerTensor operandsOf(std::size_t number, const at::Tensor& gradient, at::TensorList states,
                             DenseTensors* dense) const {
    OptimizerTensor tensor;
    const at::Tensor own = dense->first(parameters_[number]);
    placeParameter(own, companions_[number], rounded_, &tensor, dense);
    placeGradient(own, gradient, &tensor, dense);
    for (std::size_t j = 0; j < states.size(); ++j) {
      const bool one = isScalarState(optimizer_, static_cast<int>(j));
      tensor.states[j] = (one ? states[j] : dense->inOrderOf(own, states[j], true)).data_ptr<float>();
    }
    tensor.count = own.numel();
    return tensor;
  }

  const Optimizer optimizer_;
  const bool fast_, rounded_;
  std::mutex mutex_;  // guards what follows
  std::vector<at::Tensor> parameters_, states_, companions_, steps_;
  Numbers group_sizes_;
  std::vector<std::vector<double>> hook_settings_;
  std::vector<HookStates> hook_states_;
  std::vector<decltype(torch::autograd::Edge::function)> accumulators_;
  std::int64_t hook_steps_ = 0, first_gradient_ = -1;
  bool hooks_step_ = false;
};

class StepHook final : public torch::autograd::FunctionPostHook {
 public:
  StepHook(const c10::intrusive_ptr<FusedOptimizer>& optimizer, std::size_t number)
      : optimizer_(optimizer), number_(number) {}

  torch::autograd::variable_list operator()(const torch::autograd::variable_list& outputs,
                                            const torch::autograd::variable_list&) override {
    if (const auto optimizer = optimizer_.lock()) optimizer->stepOne(number_);
    return outputs;
  }

 private:
  c10::weak_intrusive_ptr<FusedOptimizer> optimizer_;
  std::size_t number_;
};

std::unique_ptr<torch::autograd::FunctionPostHook> makeStepHook(FusedOptimizer* optimizer, std::size_t number) {
  return std::make_unique<StepHook>(c10::intrusive_ptr<FusedOptimizer>::reclaim_copy(optimizer), number);
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(ipex_studio, m) {
  m.class_<FusedOptimizer>("FusedOptimizer")
      .def(torch::init<const std::string&, bool, bool>())
      .def("set", &FusedOptimizer::set)
      .def("step", &FusedOptimizer::step)
      .def("place_hooks", &FusedOptimizer::placeHooks)
      .def("step_in_backward", &FusedOptimizer::stepInBackward)
      .def("after_backward", &FusedOptimizer::afterBackward);
}

}  // namespace ipex_studio
