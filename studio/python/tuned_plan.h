// A planned module whose kernels are chosen by measuring, within a budget, when it first runs, and what was measured.
#pragma once

#include <string>

#include "core/model/model.h"

namespace ipex_studio {

// Thread-safe once it is made.
class TunedPlan {
 public:
  // `record`: earlier measurements, as measured() gives them; what it knows is not measured again. `budget_s`: for all
  // measuring together. Throws what optimize() throws.
  TunedPlan(const torch::jit::Module& module, const Inputs& example, const std::string& record, double budget_s);

  const torch::jit::Module& module() const { return module_; }
  // The measurements that `record` did not hold, as MemoryTuningStore's text.
  std::string measured() const;
  double measuringSeconds() const;

 private:
  torch::jit::Module module_;
  torch::jit::IValue tuning_;
};

}  // namespace ipex_studio
