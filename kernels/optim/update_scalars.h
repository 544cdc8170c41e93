// The numbers that a step of one tensor computes with: found in double precision once, as Python finds them, and then
// rounded.
#pragma once

#include <cstdint>

#include "kernels/optim/update.h"

namespace ipex_studio {

// What is done to each element (kernels/optim/update_rules-inl.h).
enum class UpdateRule : std::uint8_t {
  kNone,
  kSgd,
  kMomentum,
  kAdam,
  kAmsgrad,
  kAdagrad,
  kRmsprop,
  kRmspropMomentum,
  kRmspropCentered,
  kRmspropCenteredMomentum,
  kNadam,
  kRadam,
  kAdamax,
  kLion,
  kLambMoments,
  kLambStep,
  kLarsNorms,
};

struct UpdateScalars {
  UpdateRule before = UpdateRule::kNone;  // a first pass, for the norms of the tensor
  UpdateRule rule = UpdateRule::kNone;    // what changes the parameter
  bool scaled = false;                    // the gradient has a factor
  bool fast = false;                      // UpdateOptions::fast
  bool lerp = false;                      // means by lerp_, as Formulas::kTorch2 says
  bool first = false;                     // the momentum buffer holds nothing yet
  bool nesterov = false;
  bool decay_of_step = false;  // lamb: weight_decay belongs to the step, not to the gradient
  bool rectified = false;      // radam: the second moment has seen enough
  float scale = 1, clip = 1;   // factors of the gradient, applied one after the other
  float weight_decay = 0;      // times the parameter, added to the gradient; lamb: to its step
  float keep = 1;              // factor of the parameter: decoupled decay
  float beta1 = 0, rest1 = 0;  // of the first moment or the momentum: what stays, and the factor of what comes
  float beta2 = 0, rest2 = 0;  // of the second moment
  float bias1 = 1, bias2 = 1;  // divisors that correct for moments having begun at 0
  float eps = 0;
  float step_size = 0;         // negative: the factor of what is added to the parameter
  float second_step_size = 0;  // nadam: the same for its first moment
  float rectification = 1;     // radam
};

// `number`: the state that is one number, which is updated; null for optimizers without one.
UpdateScalars updateScalars(Optimizer optimizer, const double* settings, std::int64_t step, float* number,
                            const UpdateOptions& options);

// What lamb and lars decide by the norms of a tensor. `squares`: the sums of squares that the first pass found, of the
// parameter and of its step (lamb) or gradient (lars).
void applyNorms(Optimizer optimizer, const double* settings, const double* squares, UpdateScalars* scalars);

}  // namespace ipex_studio
