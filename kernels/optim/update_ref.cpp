#include "kernels/optim/update_ref.h"

#include <algorithm>
#include <cmath>

#include "kernels/optim/settings.h"

namespace ipex_studio {
namespace {

using Values = std::vector<double>;

double normOf(const Values& values) {
  double squares = 0;
  for (const double value : values) squares += value * value;
  return std::sqrt(squares);
}

// One step of one tensor, whose gradient has its factors and its sign.
struct ReferenceStep {
  const double* set;
  ReferenceTensor& tensor;
  bool torch1;

  double steps() const { return static_cast<double>(tensor.step); }
  double& p(std::size_t i) { return tensor.parameter[i]; }
  double& state(int j, std::size_t i) { return tensor.states[static_cast<std::size_t>(j)][i]; }
  double gradient(std::size_t i, double weight_decay) { return tensor.gradient[i] + weight_decay * p(i); }
  double mean(int j, std::size_t i, double beta, double value) {
    return state(j, i) = beta * state(j, i) + (1 - beta) * value;
  }
  std::size_t size() const { return tensor.parameter.size(); }
  double correction(double beta) const { return 1 - std::pow(beta, steps()); }

  void momentum(double lr, double momentum, double rest, bool nesterov, double weight_decay) {
    for (std::size_t i = 0; i < size(); ++i) {
      const double g = gradient(i, weight_decay);
      double step = g;
      if (momentum != 0) {
        state(0, i) = tensor.step == 1 ? g : momentum * state(0, i) + rest * g;
        step = nesterov ? g + momentum * state(0, i) : state(0, i);
      }
      p(i) -= lr * step;
    }
  }

  void sgd() {
    using namespace sgd_setting;
    momentum(set[kLr], set[kMomentum], 1 - set[kDampening], set[kNesterov] != 0, set[kWeightDecay]);
  }

  void adam(bool decoupled) {
    using namespace adam_setting;
    const double first = correction(set[kBeta1]), second = correction(set[kBeta2]);
    for (std::size_t i = 0; i < size(); ++i) {
      const double g = gradient(i, decoupled ? 0 : set[kWeightDecay]);
      if (decoupled) p(i) *= 1 - set[kLr] * set[kWeightDecay];
      const double m = mean(0, i, set[kBeta1], g);
      double v = mean(1, i, set[kBeta2], g * g);
      if (set[kAmsgrad] != 0) v = state(2, i) = std::max(state(2, i), v);
      p(i) -= set[kLr] * (m / first) / (std::sqrt(v / second) + set[kEps]);
    }
  }

  void adagrad() {
    using namespace adagrad_setting;
    const double lr = set[kLr] / (1 + (steps() - 1) * set[kLrDecay]);
    for (std::size_t i = 0; i < size(); ++i) {
      const double g = gradient(i, set[kWeightDecay]);
      state(0, i) += g * g;
      p(i) -= lr * g / (std::sqrt(state(0, i)) + set[kEps]);
    }
  }

  void rmsprop() {
    using namespace rmsprop_setting;
    for (std::size_t i = 0; i < size(); ++i) {
      const double g = gradient(i, set[kWeightDecay]);
      double v = mean(0, i, set[kAlpha], g * g);
      if (set[kCentered] != 0) {
        const double average = mean(1, i, set[kAlpha], g);
        v -= average * average;
      }
      double step = g / (std::sqrt(v) + set[kEps]);
      if (set[kMomentum] != 0) {
        double& buffer = state(set[kCentered] != 0 ? 2 : 1, i);
        step = buffer = set[kMomentum] * buffer + step;
      }
      p(i) -= set[kLr] * step;
    }
  }

  void nadam() {
    using namespace nadam_setting;
    const bool decoupled = set[kDecoupled] != 0;
    const auto muAt = [&](double at) { return set[kBeta1] * (1 - 0.5 * std::pow(0.96, at * set[kMomentumDecay])); };
    const double mu = muAt(steps()), next = muAt(steps() + 1), second = correction(set[kBeta2]);
    const double product = tensor.states[2].at(0) *= mu;
    const double product_next = product * next * (torch1 ? mu : 1);
    for (std::size_t i = 0; i < size(); ++i) {
      const double g = gradient(i, decoupled ? 0 : set[kWeightDecay]);
      if (decoupled) p(i) *= 1 - set[kLr] * set[kWeightDecay];
      const double m = mean(0, i, set[kBeta1], g);
      const double below = std::sqrt(mean(1, i, set[kBeta2], g * g) / second) + set[kEps];
      p(i) -= set[kLr] * ((1 - mu) / (1 - product) * g + next / (1 - product_next) * m) / below;
    }
  }

  void radam() {
    using namespace radam_setting;
    const bool decoupled = set[kDecoupled] != 0;
    const double first = correction(set[kBeta1]), second = correction(set[kBeta2]);
    const double longest = 2 / (1 - set[kBeta2]) - 1;
    const double length = longest - 2 * steps() * std::pow(set[kBeta2], steps()) / second;
    const double rectification =
        std::sqrt((length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length));
    for (std::size_t i = 0; i < size(); ++i) {
      const double g = gradient(i, decoupled ? 0 : set[kWeightDecay]);
      if (decoupled) p(i) *= 1 - set[kLr] * set[kWeightDecay];
      double step = mean(0, i, set[kBeta1], g) / first;
      const double v = mean(1, i, set[kBeta2], g * g);
      if (length > 5) step *= rectification * std::sqrt(second) / (std::sqrt(v) + set[kEps]);
      p(i) -= set[kLr] * step;
    }
  }

  void adamax() {
    using namespace adamax_setting;
    for (std::size_t i = 0; i < size(); ++i) {
      const double g = gradient(i, set[kWeightDecay]), m = mean(0, i, set[kBeta1], g);
      state(1, i) = std::max(set[kBeta2] * state(1, i), std::fabs(g) + set[kEps]);
      p(i) -= set[kLr] / correction(set[kBeta1]) * m / state(1, i);
    }
  }

  void lion() {
    using namespace lion_setting;
    for (std::size_t i = 0; i < size(); ++i) {
      const double g = tensor.gradient[i], step = set[kBeta1] * state(0, i) + (1 - set[kBeta1]) * g;
      p(i) = p(i) * (1 - set[kLr] * set[kWeightDecay]) - set[kLr] * ((step > 0) - (step < 0));
      mean(0, i, set[kBeta2], g);
    }
  }

  void lamb() {
    using namespace lamb_setting;
    const bool decoupled = set[kDecoupled] != 0, corrected = set[kBiasCorrection] != 0;
    const double first = corrected ? correction(set[kBeta1]) : 1, second = corrected ? correction(set[kBeta2]) : 1;
    const double rest = set[kAveraging] != 0 ? 1 - set[kBeta1] : 1;
    Values step(size());
    for (std::size_t i = 0; i < size(); ++i) {
      const double g = gradient(i, decoupled ? 0 : set[kWeightDecay]);
      state(0, i) = set[kBeta1] * state(0, i) + rest * g;
      step[i] = state(0, i) / first / (std::sqrt(mean(1, i, set[kBeta2], g * g) / second) + set[kEps]);
      if (decoupled) step[i] += set[kWeightDecay] * p(i);
    }
    const double weights = normOf(tensor.parameter), steps = normOf(step);
    const bool has_ratio = (set[kAlwaysRatio] != 0 || set[kWeightDecay] != 0) && weights > 0 && steps > 0;
    for (std::size_t i = 0; i < size(); ++i) p(i) -= set[kLr] * (has_ratio ? weights / steps : 1) * step[i];
  }

  void lars() {
    using namespace lars_setting;
    const double weights = normOf(tensor.parameter), gradients = normOf(tensor.gradient);
    const double decay = set[kLars] != 0 ? set[kWeightDecay] : 0;
    double lr = set[kLr];
    if (set[kLars] != 0 && weights > 0 && gradients > 0) {
      lr *= set[kEeta] * weights / (gradients + set[kWeightDecay] * weights + set[kEpsilon]);
    }
    momentum(lr, set[kMomentum], 1, false, decay);
  }

  void run(Optimizer optimizer) {
    switch (optimizer) {
      case Optimizer::kSgd:
        return sgd();
      case Optimizer::kAdam:
        return adam(false);
      case Optimizer::kAdamW:
        return adam(true);
      case Optimizer::kAdagrad:
        return adagrad();
      case Optimizer::kRmsprop:
        return rmsprop();
      case Optimizer::kNadam:
        return nadam();
      case Optimizer::kRadam:
        return radam();
      case Optimizer::kAdamax:
        return adamax();
      case Optimizer::kLion:
        return lion();
      case Optimizer::kLamb:
        return lamb();
      case Optimizer::kLars:
        return lars();
    }
  }
};

}  // namespace

double updateParametersRef(Optimizer optimizer, const std::vector<std::vector<double>>& settings,
                           std::vector<ReferenceTensor>* tensors, const UpdateOptions& options) {
  double squares = 0;
  for (const ReferenceTensor& tensor : *tensors) {
    const double norm = normOf(tensor.gradient) * options.gradient_scale;
    squares += norm * norm;
  }
  const double norm = std::sqrt(squares);
  if (options.skip_infinite && !std::isfinite(norm)) return norm;
  double factor = options.gradient_scale;
  if (options.max_norm > 0) factor *= std::min(1.0, options.max_norm / (norm + options.clip_epsilon));
  for (ReferenceTensor& tensor : *tensors) {
    const std::vector<double>& own = settings.at(static_cast<std::size_t>(tensor.group));
    const double sign = own.back() != 0 ? -1 : 1;
    const Values kept = tensor.gradient;
    for (double& value : tensor.gradient) value *= sign * factor;
    ReferenceStep{own.data(), tensor, options.formulas == Formulas::kTorch1}.run(optimizer);
    tensor.gradient = kept;
  }
  return options.max_norm > 0 || options.skip_infinite ? norm : 0;
}

}  // namespace ipex_studio
