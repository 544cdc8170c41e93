// Constants as libtorch's executor takes them.
#pragma once

#include "core/torch/torch_compat.h"

namespace ipex_studio {

// Replaces tensors without dimensions by numbers where add, sub, mul and div have them as constant second operands, as
// libtorch's executor does before it runs a graph. That decides dtypes: integers and a double precision tensor of one
// number make double precision, and with the number itself FP32. What is to know the dtypes of a run, node by node or
// in plans, asks for this first. Constants that freezing makes of attributes are none of the model's: call it before.
void writeConstantOperandsAsNumbers(torch::jit::Graph& graph);

}  // namespace ipex_studio
