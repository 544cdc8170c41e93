#include "kernels/optim/update_scalars.h"

#include <cmath>

#include "kernels/optim/settings.h"

namespace ipex_studio {
namespace {

float narrow(double value) { return static_cast<float>(value); }

// The factors of the gradient that all optimizers have; maximizing turns its sign.
void setGradientFactors(bool maximize, const UpdateOptions& options, UpdateScalars* s) {
  s->scale = narrow(maximize ? -options.gradient_scale : options.gradient_scale);
  s->scaled = s->scale != 1;
  s->lerp = options.formulas == Formulas::kTorch2;
}

void setMoments(double beta1, double beta2, UpdateScalars* s) {
  s->beta1 = narrow(beta1);
  s->rest1 = narrow(1 - beta1);
  s->beta2 = narrow(beta2);
  s->rest2 = narrow(1 - beta2);
}

// Weight decay of the gradient, or of the parameter itself if decoupled.
void setDecay(bool decoupled, double lr, double weight_decay, UpdateScalars* s) {
  if (decoupled) {
    s->keep = narrow(1 - lr * weight_decay);
  } else {
    s->weight_decay = narrow(weight_decay);
  }
}

void sgdScalars(const double* set, std::int64_t step, UpdateScalars* s) {
  using namespace sgd_setting;
  s->rule = set[kMomentum] != 0 ? UpdateRule::kMomentum : UpdateRule::kSgd;
  s->weight_decay = narrow(set[kWeightDecay]);
  s->beta1 = narrow(set[kMomentum]);
  s->rest1 = narrow(1 - set[kDampening]);
  s->nesterov = set[kNesterov] != 0;
  s->first = step == 1;
  s->step_size = narrow(-set[kLr]);
}

void adamScalars(bool decoupled, const double* set, std::int64_t step, UpdateScalars* s) {
  using namespace adam_setting;
  setMoments(set[kBeta1], set[kBeta2], s);
  setDecay(decoupled, set[kLr], set[kWeightDecay], s);
  const double steps = static_cast<double>(step), size = set[kLr] / (1 - std::pow(set[kBeta1], steps)),
               root = std::sqrt(1 - std::pow(set[kBeta2], steps));
  s->rule = set[kAmsgrad] != 0 ? UpdateRule::kAmsgrad : UpdateRule::kAdam;
  if (s->fast) {  // numerator and denominator times the root: no second division
    s->step_size = narrow(-size * root);
    s->eps = narrow(set[kEps] * root);
  } else {
    s->step_size = narrow(-size);
    s->bias2 = narrow(root);
    s->eps = narrow(set[kEps]);
  }
}

void adagradScalars(const double* set, std::int64_t step, UpdateScalars* s) {
  using namespace adagrad_setting;
  s->rule = UpdateRule::kAdagrad;
  s->weight_decay = narrow(set[kWeightDecay]);
  s->eps = narrow(set[kEps]);
  s->step_size = narrow(-set[kLr] / (1 + (static_cast<double>(step) - 1) * set[kLrDecay]));
}

void rmspropScalars(const double* set, UpdateScalars* s) {
  using namespace rmsprop_setting;
  const bool momentum = set[kMomentum] != 0, centered = set[kCentered] != 0;
  s->rule = centered   ? momentum ? UpdateRule::kRmspropCenteredMomentum : UpdateRule::kRmspropCentered
            : momentum ? UpdateRule::kRmspropMomentum
                       : UpdateRule::kRmsprop;
  s->weight_decay = narrow(set[kWeightDecay]);
  s->beta1 = narrow(set[kMomentum]);
  s->beta2 = narrow(set[kAlpha]);
  s->rest2 = narrow(1 - set[kAlpha]);
  s->eps = narrow(set[kEps]);
  s->step_size = narrow(-set[kLr]);
}

void nadamScalars(const double* set, std::int64_t step, float* product, UpdateScalars* s) {
  using namespace nadam_setting;
  s->rule = UpdateRule::kNadam;
  setMoments(set[kBeta1], set[kBeta2], s);
  setDecay(set[kDecoupled] != 0, set[kLr], set[kWeightDecay], s);
  const double steps = static_cast<double>(step), beta1 = set[kBeta1], lr = set[kLr];
  const double mu = beta1 * (1. - 0.5 * std::pow(0.96, steps * set[kMomentumDecay]));
  const double mu_next = beta1 * (1. - 0.5 * std::pow(0.96, (steps + 1) * set[kMomentumDecay]));
  *product *= narrow(mu);  // a tensor of PyTorch's: in single precision
  const double next = s->lerp ? double{*product} * mu_next : double{*product * narrow(mu) * narrow(mu_next)};
  s->bias2 = narrow(1 - std::pow(set[kBeta2], steps));
  s->eps = narrow(set[kEps]);
  s->step_size = narrow(-lr * (1. - mu) / (1. - double{*product}));
  s->second_step_size = narrow(-lr * mu_next / (1. - next));
}

// The step size stands apart from the other factors, since the for-loop multiplies by each.
void radamScalars(const double* set, std::int64_t step, UpdateScalars* s) {
  using namespace radam_setting;
  s->rule = UpdateRule::kRadam;
  setMoments(set[kBeta1], set[kBeta2], s);
  setDecay(set[kDecoupled] != 0, set[kLr], set[kWeightDecay], s);
  const double steps = static_cast<double>(step), power2 = std::pow(set[kBeta2], steps), bias2 = 1 - power2;
  const double longest = 2 / (1 - set[kBeta2]) - 1, length = longest - 2 * steps * power2 / bias2;
  s->bias1 = narrow(1 - std::pow(set[kBeta1], steps));
  s->bias2 = narrow(std::sqrt(bias2));
  s->eps = narrow(set[kEps]);
  s->step_size = narrow(set[kLr]);
  s->rectified = length > 5;
  if (!s->rectified) return;
  s->rectification =
      narrow(std::sqrt((length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length)));
}

void adamaxScalars(const double* set, std::int64_t step, UpdateScalars* s) {
  using namespace adamax_setting;
  s->rule = UpdateRule::kAdamax;
  setMoments(set[kBeta1], set[kBeta2], s);
  s->weight_decay = narrow(set[kWeightDecay]);
  s->eps = narrow(set[kEps]);
  s->step_size = narrow(-set[kLr] / (1 - std::pow(set[kBeta1], static_cast<double>(step))));
}

void lionScalars(const double* set, UpdateScalars* s) {
  using namespace lion_setting;
  s->rule = UpdateRule::kLion;
  setMoments(set[kBeta1], set[kBeta2], s);
  setDecay(true, set[kLr], set[kWeightDecay], s);
  s->step_size = narrow(-set[kLr]);
}

// The decay belongs to the step, or to the gradient if it is coupled.
void lambScalars(const double* set, std::int64_t step, UpdateScalars* s) {
  using namespace lamb_setting;
  s->before = UpdateRule::kLambMoments;
  s->rule = UpdateRule::kLambStep;
  setMoments(set[kBeta1], set[kBeta2], s);
  if (set[kAveraging] == 0) s->rest1 = 1;
  s->decay_of_step = set[kDecoupled] != 0;
  s->weight_decay = narrow(set[kWeightDecay]);
  s->eps = narrow(set[kEps]);
  s->step_size = narrow(-set[kLr]);
  if (set[kBiasCorrection] == 0) return;
  s->bias1 = narrow(1 - std::pow(set[kBeta1], static_cast<double>(step)));
  s->bias2 = narrow(1 - std::pow(set[kBeta2], static_cast<double>(step)));
}

void larsScalars(const double* set, std::int64_t step, UpdateScalars* s) {
  using namespace lars_setting;
  const bool lars = set[kLars] != 0;
  if (lars) s->before = UpdateRule::kLarsNorms;
  s->rule = set[kMomentum] != 0 ? UpdateRule::kMomentum : UpdateRule::kSgd;
  s->weight_decay = narrow(lars ? set[kWeightDecay] : 0);
  s->beta1 = narrow(set[kMomentum]);
  s->rest1 = 1;
  s->first = step == 1;
  s->step_size = narrow(-set[kLr]);
}

}  // namespace

UpdateScalars updateScalars(Optimizer optimizer, const double* settings, std::int64_t step, float* number,
                            const UpdateOptions& options) {
  UpdateScalars s;
  s.fast = options.fast;
  setGradientFactors(settings[settingCount(optimizer) - 1] != 0, options, &s);  // maximize comes last
  switch (optimizer) {
    case Optimizer::kSgd:
      sgdScalars(settings, step, &s);
      break;
    case Optimizer::kAdam:
      adamScalars(false, settings, step, &s);
      break;
    case Optimizer::kAdamW:
      adamScalars(true, settings, step, &s);
      break;
    case Optimizer::kAdagrad:
      adagradScalars(settings, step, &s);
      break;
    case Optimizer::kRmsprop:
      rmspropScalars(settings, &s);
      break;
    case Optimizer::kNadam:
      nadamScalars(settings, step, number, &s);
      break;
    case Optimizer::kRadam:
      radamScalars(settings, step, &s);
      break;
    case Optimizer::kAdamax:
      adamaxScalars(settings, step, &s);
      break;
    case Optimizer::kLion:
      lionScalars(settings, &s);
      break;
    case Optimizer::kLamb:
      lambScalars(settings, step, &s);
      break;
    case Optimizer::kLars:
      larsScalars(settings, step, &s);
      break;
  }
  return s;
}

void applyNorms(Optimizer optimizer, const double* settings, const double* squares, UpdateScalars* scalars) {
  const double weight = std::sqrt(squares[0]), other = std::sqrt(squares[1]);
  if (weight == 0 || other == 0) return;  // the ratio is 1
  if (optimizer == Optimizer::kLamb) {
    using namespace lamb_setting;
    if (settings[kAlwaysRatio] == 0 && settings[kWeightDecay] == 0) return;
    scalars->step_size = narrow(-settings[kLr] * (weight / other));
  } else {
    using namespace lars_setting;
    const double below = other + settings[kWeightDecay] * weight + settings[kEpsilon];
    scalars->step_size = narrow(-settings[kLr] * (settings[kEeta] * weight / below));
  }
}

}  // namespace ipex_studio
