// Adafactor as its definition says, in FP64.
#pragma once

#include <vector>

#include "kernels/optim/adafactor.h"

namespace ipex_studio {

struct AdafactorNumbers {
  std::vector<double> parameter, gradient, row_moments, moments;  // row_moments: empty for a vector
  std::int64_t matrices = 1, rows = 1, columns = 0, step = 1;
};

void refAdafactorStep(const AdafactorSettings& settings, AdafactorNumbers* numbers);

}  // namespace ipex_studio
