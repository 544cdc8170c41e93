// The optimizers: their names, the order of their settings and of what they keep for each parameter.
//
// name      settings, in order (flags are 0 or 1)                                     states of a parameter, in order
// sgd       lr momentum dampening nesterov weight_decay maximize                      momentum_buffer, if momentum
// adam      lr beta1 beta2 eps weight_decay amsgrad maximize                          exp_avg exp_avg_sq, and
// adamw     as adam                                                                     max_exp_avg_sq, if amsgrad
// adagrad   lr lr_decay weight_decay eps maximize                                     sum
// rmsprop   lr alpha eps weight_decay momentum centered maximize                      square_avg, grad_avg if centered,
//                                                                                       momentum_buffer if momentum
// nadam     lr beta1 beta2 eps weight_decay momentum_decay decoupled maximize         exp_avg exp_avg_sq mu_product
// radam     lr beta1 beta2 eps weight_decay decoupled maximize                        exp_avg exp_avg_sq
// adamax    lr beta1 beta2 eps weight_decay maximize                                  exp_avg exp_inf
// lion      lr beta1 beta2 weight_decay maximize                                      exp_avg
// lamb      lr beta1 beta2 eps weight_decay bias_correction decoupled averaging       exp_avg exp_avg_sq
//             always_ratio maximize
// lars      lr momentum eeta weight_decay epsilon lars maximize                       momentum_buffer, if momentum
//
// Settings mean what they mean to torch.optim; `decoupled` is decoupled_weight_decay. Of lamb, `decoupled` is apex's
// adam_w_mode, `averaging` its grad_averaging and `always_ratio` its use_nvlamb: Intel Extension for PyTorch has all of
// them and bias_correction on. States have the sizes of their parameter, but mu_product, which is one number and starts
// at 1. All others start at 0, but the sum of adagrad at its initial_accumulator_value.
#pragma once

#include <cstdint>
#include <string>

namespace ipex_studio {

enum class Optimizer : std::uint8_t {
  kSgd,
  kAdam,
  kAdamW,
  kAdagrad,
  kRmsprop,
  kNadam,
  kRadam,
  kAdamax,
  kLion,
  kLamb,
  kLars
};

constexpr int kOptimizers = 11;
constexpr int kMaxSettings = 10;
constexpr int kMaxStates = 3;

const char* optimizerName(Optimizer optimizer);

// Throws Error(kUsage) that lists the names when there is none such.
Optimizer optimizerFromName(const std::string& name);

int settingCount(Optimizer optimizer);

// How many states a parameter has under these settings.
int stateCount(Optimizer optimizer, const double* settings);

// True if this state is one number, whatever the size of the parameter.
bool isScalarState(Optimizer optimizer, int state);

}  // namespace ipex_studio
