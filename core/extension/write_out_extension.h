// Writes a module of Intel Extension for PyTorch in operators of PyTorch.
#pragma once

#include <string>
#include <vector>

#include "core/torch/torch_compat.h"

namespace ipex_studio {

// Replaces its operators in all methods by what they compute, and packed layers by their plain states: a layer's
// weights are read from its object. Returns the number of operators. Throws Error(kBadModel) for what cannot be
// replaced, among it an address in the place of a layer: those in files belong to a process that is gone, and are not
// followed.
int writeOutExtension(const torch::jit::Module& module);

// Those of `operators` ("torch_ipex::nms") that are the extension's and are named like no operator of this process.
std::vector<std::string> unknownToUs(const std::vector<std::string>& operators);

}  // namespace ipex_studio
