// The settings and states of each optimizer, in the order of ipex_studio::optimizer_step.
#include "core/train/training_optimizer.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <map>

#include "core/base/error.h"
#include "core/train/option_text.h"

namespace ipex_studio {

struct OptimizerForm {
  struct Setting {
    const char* key;
    double otherwise;
    bool flag = false;
    double high = 1e12;
  };
  struct Kept {
    const char* name;
    int only_with = -1;   // the setting without which it is not kept; -1: always
    bool number = false;  // one number that begins at 1
  };
  const char* name;
  std::vector<Setting> settings;  // "lr" first; behind them comes "maximize", which a loss has no use for
  std::vector<Kept> states;
};

namespace {

using at::Tensor;
using Setting = OptimizerForm::Setting;

constexpr double kClipEpsilon = 1e-6;  // as in torch.nn.utils.clip_grad_norm_

// A share, which is 1 at most.
Setting share(const char* key, double otherwise) { return {key, otherwise, false, 1}; }
Setting flag(const char* key, double otherwise = 0) { return {key, otherwise, true, 1}; }

// Defaults are those of torch.optim; lion's those of its paper, and those of lamb and lars of Intel Extension for
// PyTorch.
const OptimizerForm kForms[] = {
    {"sgd",
     {{"lr", 0.01}, share("momentum", 0), share("dampening", 0), flag("nesterov"), {"weight_decay", 0}},
     {{"momentum_buffer", 1}}},
    {"adam",
     {{"lr", 1e-3}, share("beta1", 0.9), share("beta2", 0.999), {"eps", 1e-8}, {"weight_decay", 0}, flag("amsgrad")},
     {{"exp_avg"}, {"exp_avg_sq"}, {"max_exp_avg_sq", 5}}},
    {"adamw",
     {{"lr", 1e-3}, share("beta1", 0.9), share("beta2", 0.999), {"eps", 1e-8}, {"weight_decay", 0.01}, flag("amsgrad")},
     {{"exp_avg"}, {"exp_avg_sq"}, {"max_exp_avg_sq", 5}}},
    {"adagrad", {{"lr", 0.01}, {"lr_decay", 0}, {"weight_decay", 0}, {"eps", 1e-10}}, {{"sum"}}},
    {"rmsprop",
     {{"lr", 0.01}, share("alpha", 0.99), {"eps", 1e-8}, {"weight_decay", 0}, share("momentum", 0), flag("centered")},
     {{"square_avg"}, {"grad_avg", 5}, {"momentum_buffer", 4}}},
    {"nadam",
     {{"lr", 2e-3},
      share("beta1", 0.9),
      share("beta2", 0.999),
      {"eps", 1e-8},
      {"weight_decay", 0},
      {"momentum_decay", 4e-3},
      flag("decoupled")},
     {{"exp_avg"}, {"exp_avg_sq"}, {"mu_product", -1, true}}},
    {"radam",
     {{"lr", 1e-3}, share("beta1", 0.9), share("beta2", 0.999), {"eps", 1e-8}, {"weight_decay", 0}, flag("decoupled")},
     {{"exp_avg"}, {"exp_avg_sq"}}},
    {"adamax",
     {{"lr", 2e-3}, share("beta1", 0.9), share("beta2", 0.999), {"eps", 1e-8}, {"weight_decay", 0}},
     {{"exp_avg"}, {"exp_inf"}}},
    {"lion", {{"lr", 1e-4}, share("beta1", 0.9), share("beta2", 0.99), {"weight_decay", 0}}, {{"exp_avg"}}},
    {"lamb",
     {{"lr", 1e-3},
      share("beta1", 0.9),
      share("beta2", 0.999),
      {"eps", 1e-8},
      {"weight_decay", 0},
      flag("bias_correction", 1),
      flag("decoupled", 1),
      flag("averaging", 1),
      flag("always_ratio", 1)},
     {{"exp_avg"}, {"exp_avg_sq"}}},
    {"lars",
     {{"lr", 0.1}, share("momentum", 0.9), {"eeta", 1e-3}, {"weight_decay", 0}, {"epsilon", 0}, flag("lars", 1)},
     {{"momentum_buffer", 1}}},
};

const OptimizerForm& formOf(const OptionText& text) {
  std::vector<std::string> names;
  for (const OptimizerForm& form : kForms) {
    if (text.name() == form.name) return form;
    names.emplace_back(form.name);
  }
  text.refuse(fmt::format("there is no such optimizer; use {}", fmt::join(names, ", ")));
}

std::vector<double> settingsOf(OptionText& text, const OptimizerForm& form) {
  std::vector<double> settings;
  for (const Setting& s : form.settings) {
    settings.push_back(s.flag ? text.flag(s.key, s.otherwise != 0) : text.number(s.key, s.otherwise, 0, s.high));
  }
  text.finish();
  settings.push_back(0);  // maximize
  return settings;
}

Tensor denseGradient(const Tensor& parameter) {
  const Tensor& gradient = parameter.grad();
  return gradient.is_sparse() ? gradient.to_dense() : gradient;
}

}  // namespace

TrainingOptimizer::TrainingOptimizer(const std::string& setting, std::vector<Tensor> parameters)
    : parameters_(std::move(parameters)), updates_(parameters_.size(), 0) {
  OptionText text("--optimizer", setting);
  form_ = &formOf(text);
  settings_ = settingsOf(text, *form_);
  if (text.name() == "sgd" && settings_[3] != 0 && (settings_[1] == 0 || settings_[2] != 0))
    text.refuse("nesterov needs a momentum and no dampening");
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    for (const OptimizerForm::Kept& kept : form_->states) {
      if (kept.only_with >= 0 && settings_[static_cast<std::size_t>(kept.only_with)] == 0) continue;
      const Tensor value = kept.number ? at::ones({1}) : at::zeros_like(parameters_[i], at::MemoryFormat::Preserve);
      states_.push_back({kept.name, i, value.detach()});
    }
  }
  states_each_ = parameters_.empty() ? 0 : states_.size() / parameters_.size();
}

const char* TrainingOptimizer::name() const { return form_->name; }

double TrainingOptimizer::update(const std::vector<std::size_t>& which, double learning_rate, double scale,
                                 double max_norm, std::vector<std::int64_t>* each_ns) {
  static const c10::OperatorHandle kStep =
      c10::Dispatcher::singleton().findSchemaOrThrow("ipex_studio::optimizer_step", "");
  c10::List<Tensor> parameters, gradients, states;
  for (const std::size_t i : which) {
    parameters.push_back(parameters_[i]);
    gradients.push_back(denseGradient(parameters_[i]));
    for (std::size_t s = 0; s < states_each_; ++s) states.push_back(states_[i * states_each_ + s].value);
  }
  c10::List<double> settings(settings_);
  settings[0] = learning_rate;
  const Tensor times = each_ns != nullptr ? at::zeros({static_cast<std::int64_t>(which.size())}, at::kLong) : Tensor();
  torch::jit::Stack stack{std::string(form_->name),
                          settings,
                          parameters,
                          gradients,
                          states,
                          updates_[which.front()] + 1,
                          scale,
                          max_norm,
                          /*skip_infinite=*/true,
                          /*fast=*/false,
                          each_ns != nullptr ? torch::jit::IValue(times) : torch::jit::IValue()};
  kStep.callBoxed(&stack);
  for (std::size_t i = 0; each_ns != nullptr && i < which.size(); ++i)
    (*each_ns)[which[i]] = times.data_ptr<std::int64_t>()[i];
  return stack.front().toDouble();
}

double TrainingOptimizer::step(double learning_rate, double max_norm, std::vector<std::int64_t>* each_ns) {
  if (each_ns != nullptr) each_ns->assign(parameters_.size(), 0);
  const at::NoGradGuard no_gradients;
  std::map<std::int64_t, std::vector<std::size_t>> by_updates;  // one call for all that were updated as often
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (!parameters_[i].grad().defined()) continue;
    all.push_back(i);
    by_updates[updates_[i]].push_back(i);
  }
  double norm = 0;
  if (by_updates.size() == 1) {
    norm = update(all, learning_rate, 1, max_norm, each_ns);
  } else {
    double squares = 0;
    for (const std::size_t i : all)
      squares += std::pow(denseGradient(parameters_[i]).norm(2, at::kDouble).item<double>(), 2);
    norm = std::sqrt(squares);
    const double scale = max_norm > 0 ? std::min(1.0, max_norm / (norm + kClipEpsilon)) : 1;
    if (!std::isfinite(norm)) return norm;
    for (const auto& [count, which] : by_updates) update(which, learning_rate, scale, 0, each_ns);
  }
  if (!std::isfinite(norm)) return norm;
  for (const std::size_t i : all) ++updates_[i];
  return norm;
}

void TrainingOptimizer::restore(const std::vector<State>& states, const std::vector<std::int64_t>& updates) {
  bool fits = updates.size() == updates_.size() && states.size() == states_.size();
  for (std::size_t i = 0; i < states_.size() && fits; ++i) {
    fits = states[i].name == states_[i].name && states[i].parameter == states_[i].parameter &&
           states[i].value.scalar_type() == at::kFloat && states[i].value.sizes().equals(states_[i].value.sizes());
  }
  if (!fits) {
    throw Error(ExitCode::kBadModel,
                fmt::format("The checkpoint's states are not those of {} with these settings on this model; give the "
                            "same --optimizer, or begin anew without --resume.",
                            name()));
  }
  for (std::size_t i = 0; i < states_.size(); ++i) states_[i].value.copy_(states[i].value);
  updates_ = updates;
}

}  // namespace ipex_studio
