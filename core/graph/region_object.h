// Region objects seen through TorchScript alone: the class is registered by the operator library (kernels/torch).
#pragma once

#include <string>
#include <vector>

#include "core/graph/torch_compat.h"

namespace ipex_studio {

c10::ClassTypePtr regionType();

// A new ipex_studio::Region. Throws Error(kBadModel) when text and constants do not fit.
torch::jit::IValue makeRegionObject(const std::string& plan_text, const std::vector<at::Tensor>& constants);

// The regions of an optimized module, in order of their number.
std::vector<torch::jit::IValue> regionObjects(const torch::jit::Module& module);

// Calls a method without arguments ("start_profile", "stop_profile").
torch::jit::IValue callRegion(const torch::jit::IValue& region, const std::string& method);

}  // namespace ipex_studio
