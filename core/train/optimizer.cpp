// The rules of torch.optim, parameter by parameter, operation by operation, so that results have the same bits.
#include "core/train/optimizer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "core/base/error.h"
#include "core/train/option_text.h"

namespace ipex_studio {
namespace {

using at::Tensor;

constexpr double kMany = 1e12;

// What one update reads and writes.
struct Update {
  Tensor& p;
  Tensor g;
  double rate;
  std::int64_t count;  // of updates of this parameter, from 1
  std::vector<Tensor>& states;
  // The state, of zeros at first.
  Tensor& state(std::size_t index) const {
    Tensor& value = states[index];
    if (!value.defined()) value = at::zeros_like(p, at::MemoryFormat::Preserve);
    return value;
  }
};

void addDecay(Update& u, double weight_decay) {
  if (weight_decay != 0) u.g = u.g.add(u.p, weight_decay);
}

void sgd(Update& u, const std::vector<double>& s) {
  const double momentum = s[0], dampening = s[1], decay = s[2];
  const bool nesterov = s[3] != 0;
  addDecay(u, decay);
  if (momentum != 0) {
    if (!u.states[0].defined()) {
      u.states[0] = u.g.clone();
    } else {
      u.states[0].mul_(momentum).add_(u.g, 1 - dampening);
    }
    u.g = nesterov ? u.g.add(u.states[0], momentum) : u.states[0];
  }
  u.p.add_(u.g, -u.rate);
}

void adamStep(Update& u, double beta1, double beta2, double eps, bool amsgrad) {
  u.state(0).mul_(beta1).add_(u.g, 1 - beta1);
  u.state(1).mul_(beta2).addcmul_(u.g, u.g, 1 - beta2);
  if (amsgrad) u.states[2] = at::maximum(u.state(2), u.states[1]);
  const auto count = static_cast<double>(u.count);
  const double correction = std::sqrt(1 - std::pow(beta2, count));
  const Tensor denominator = (u.states[amsgrad ? 2 : 1].sqrt() / correction).add_(eps);
  u.p.addcdiv_(u.states[0], denominator, -u.rate / (1 - std::pow(beta1, count)));
}

void adam(Update& u, const std::vector<double>& s) {
  addDecay(u, s[3]);
  adamStep(u, s[0], s[1], s[2], s[4] != 0);
}

void adamw(Update& u, const std::vector<double>& s) {
  u.p.mul_(1 - u.rate * s[3]);
  adamStep(u, s[0], s[1], s[2], s[4] != 0);
}

void adagrad(Update& u, const std::vector<double>& s) {
  const double rate = u.rate / (1 + static_cast<double>(u.count - 1) * s[0]), eps = s[1];
  addDecay(u, s[2]);
  u.state(0).addcmul_(u.g, u.g, 1);
  u.p.addcdiv_(u.g, u.states[0].sqrt().add_(eps), -rate);
}

void rmsprop(Update& u, const std::vector<double>& s) {
  const double alpha = s[0], eps = s[1], momentum = s[2];
  const bool centered = s[4] != 0;
  addDecay(u, s[3]);
  u.state(0).mul_(alpha).addcmul_(u.g, u.g, 1 - alpha);
  if (centered) u.state(2).mul_(alpha).add_(u.g, 1 - alpha);
  const Tensor average =
      centered ? u.states[0].addcmul(u.states[2], u.states[2], -1).sqrt_().add_(eps) : u.states[0].sqrt().add_(eps);
  if (momentum == 0) {
    u.p.addcdiv_(u.g, average, -u.rate);
    return;
  }
  u.state(1).mul_(momentum).addcdiv_(u.g, average);
  u.p.add_(u.states[1], -u.rate);
}

}  // namespace

struct OptimizerRule {
  struct Setting {
    const char* key;
    double otherwise, low, high;
    bool flag = false;
  };
  const char* name;
  double learning_rate;  // PyTorch's default
  std::vector<const char*> states;
  std::vector<Setting> settings;
  void (*update)(Update& update, const std::vector<double>& settings);
};

namespace {

const OptimizerRule kRules[] = {
    {"sgd",
     0.01,
     {"momentum_buffer"},
     {{"momentum", 0, 0, 1}, {"dampening", 0, 0, 1}, {"weight_decay", 0, 0, kMany}, {"nesterov", 0, 0, 1, true}},
     sgd},
    {"adam",
     1e-3,
     {"exp_avg", "exp_avg_sq", "max_exp_avg_sq"},
     {{"beta1", 0.9, 0, 1},
      {"beta2", 0.999, 0, 1},
      {"eps", 1e-8, 0, 1},
      {"weight_decay", 0, 0, kMany},
      {"amsgrad", 0, 0, 1, true}},
     adam},
    {"adamw",
     1e-3,
     {"exp_avg", "exp_avg_sq", "max_exp_avg_sq"},
     {{"beta1", 0.9, 0, 1},
      {"beta2", 0.999, 0, 1},
      {"eps", 1e-8, 0, 1},
      {"weight_decay", 0.01, 0, kMany},
      {"amsgrad", 0, 0, 1, true}},
     adamw},
    {"adagrad",
     0.01,
     {"sum"},
     {{"lr_decay", 0, 0, kMany}, {"eps", 1e-10, 0, 1}, {"weight_decay", 0, 0, kMany}},
     adagrad},
    {"rmsprop",
     0.01,
     {"square_avg", "momentum_buffer", "grad_avg"},
     {{"alpha", 0.99, 0, 1},
      {"eps", 1e-8, 0, 1},
      {"momentum", 0, 0, 1},
      {"weight_decay", 0, 0, kMany},
      {"centered", 0, 0, 1, true}},
     rmsprop},
};

const OptimizerRule& ruleOf(const OptionText& text) {
  std::vector<std::string> names;
  for (const OptimizerRule& rule : kRules) {
    if (text.name() == rule.name) return rule;
    names.emplace_back(rule.name);
  }
  text.refuse(fmt::format("there is no such optimizer; use {}", fmt::join(names, ", ")));
}

}  // namespace

Optimizer::Optimizer(const std::string& setting, std::vector<Tensor> parameters) : parameters_(std::move(parameters)) {
  OptionText text("--optimizer", setting);
  rule_ = &ruleOf(text);
  learning_rate_ = text.number("lr", rule_->learning_rate, 0, kMany);
  for (const OptimizerRule::Setting& s : rule_->settings) {
    settings_.push_back(s.flag ? (text.flag(s.key) ? 1.0 : 0.0) : text.number(s.key, s.otherwise, s.low, s.high));
  }
  text.finish();
  if (rule_->update == sgd && settings_[3] != 0 && (settings_[0] == 0 || settings_[1] != 0))
    text.refuse("nesterov needs a momentum and no dampening");
  states_.assign(parameters_.size(), std::vector<Tensor>(rule_->states.size()));
  updates_.assign(parameters_.size(), 0);
}

Optimizer::~Optimizer() = default;

const char* Optimizer::name() const { return rule_->name; }

void Optimizer::step(double learning_rate) {
  const at::NoGradGuard no_gradients;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const Tensor& gradient = parameters_[i].grad();
    if (!gradient.defined()) continue;
    Update update{parameters_[i], gradient.is_sparse() ? gradient.to_dense() : gradient, learning_rate, ++updates_[i],
                  states_[i]};
    rule_->update(update, settings_);
  }
}

std::vector<Optimizer::State> Optimizer::states() const {
  std::vector<State> found;
  for (std::size_t i = 0; i < states_.size(); ++i) {
    for (std::size_t s = 0; s < states_[i].size(); ++s) {
      if (states_[i][s].defined()) found.push_back({rule_->states[s], i, states_[i][s]});
    }
  }
  return found;
}

void Optimizer::restore(const std::vector<State>& states, const std::vector<std::int64_t>& updates) {
  bool fits = updates.size() == parameters_.size();
  for (const State& state : states) {
    const auto name = std::find(rule_->states.begin(), rule_->states.end(), state.name);
    fits = fits && name != rule_->states.end() && state.parameter < parameters_.size() &&
           state.value.sizes().equals(parameters_[state.parameter].sizes());
    if (!fits) break;
    states_[state.parameter][static_cast<std::size_t>(std::distance(rule_->states.begin(), name))] = state.value;
  }
  if (!fits)
    throw Error(ExitCode::kBadModel, fmt::format("The checkpoint's states are not those of {} on this model.", name()));
  updates_ = updates;
}

}  // namespace ipex_studio
