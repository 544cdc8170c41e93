// SmoothQuant for the linear layers of a recipe. Private to the passes that follow a recipe.
#pragma once

#include <vector>

#include "passes/quantize/quantize_writer.h"

namespace ipex_studio {

// Gives linear layers whose operand comes in FP32 factors per channel, and the scale of what is divided by them: one
// set of factors per value for all linear layers that read it. `alpha`: Recipe::smooth_alpha; 0: does nothing.
void smoothLinears(std::vector<QuantizedOp>* work, double alpha);

}  // namespace ipex_studio
