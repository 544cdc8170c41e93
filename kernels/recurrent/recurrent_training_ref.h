// Recurrent layers in training as their definitions say, in FP64.
#pragma once

#include <vector>

#include "kernels/recurrent/recurrent_training.h"

namespace ipex_studio {

using RecurrentNumbers = std::vector<double>;

// Operands as recurrent_training.h describes them.
struct RecurrentOperandsRef {
  RecurrentNumbers w_hh, w_hr, hidden_bias, given, h,
      c;                        // `given`: products of the inputs; h, c: before the first step
  RecurrentNumbers dy, dh, dc;  // of results and of the last states
};

struct RecurrentResultsRef {
  RecurrentNumbers y, h, c;                                     // h, c: the last
  RecurrentNumbers dgiven, dw_hh, dw_hr, dhidden_bias, dh, dc;  // dh, dc: of the first
};

RecurrentResultsRef refRecurrentTraining(const RecurrentSequence& sequence, const RecurrentOperandsRef& operands);

}  // namespace ipex_studio
