// Schedule: the learning rate of each step, as the optimizer's rate times a factor.
//
//   constant                             1
//   step:every=30,gamma=0.1              times gamma every 30 epochs
//   multistep:at=30/60,gamma=0.1         times gamma from epochs 30 and 60 on
//   cosine:end=0                         half a cosine from 1 to `end` over all steps
//   linear:end=0                         straight from 1 to `end` over all steps
//   one_cycle:warmup=0.3,start=25,end=1e4   from 1 / start up to 1 over this share of the steps, then down to
//                                        1 / (start · end), both as half a cosine (L. Smith, N. Topin:
//                                        Super-convergence, 2018; torch.optim.lr_scheduler.OneCycleLR)
//
// `warmup=N` of all but one_cycle: over the first N steps the factor rises linearly from 1 / N; cosine and linear begin
// behind it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace ipex_studio {

class Schedule {
 public:
  // Throws Error(kUsage) in one sentence.
  Schedule(const std::string& text, std::int64_t steps_per_epoch, std::int64_t epochs);
  // The factor of step `index` from 0 on. Thread-safe.
  double factor(std::int64_t index) const;

 private:
  std::function<double(double index)> shape_;
  double warmup_ = 0;
};

}  // namespace ipex_studio
