#include "kernels/torch/layers/kept_linear.h"

#include <ATen/Context.h>

#include "kernels/torch/layers/kept_operations.h"

namespace ipex_studio {

std::shared_ptr<const LinearTraining> keptLinear(const LinearProblem& problem) {
  static const bool wide = hasWideProducts() && !at::hasMKL();
  if (!problem.bf16 && !wide) return nullptr;
  static auto& kept = *new KeptOperations<LinearProblem, LinearTraining>;
  return kept.of(problem, [](const LinearProblem& of) {
    auto linear = std::make_shared<const LinearTraining>(of);
    return linear->isQuick() ? linear : nullptr;
  });
}

}  // namespace ipex_studio
